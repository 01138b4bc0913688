"""Migration: version and code of Ironbird for each campaign and flight, files of the vehicles."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; for earlier rows only the campaign's version is known."""
    op.add_column("campaign", sa.Column("software", sa.String(64)))
    op.add_column("campaign", sa.Column("files", sa.Text))
    op.add_column("flight", sa.Column("ironbird", sa.String(40)))
    op.add_column("flight", sa.Column("software", sa.String(64)))


def downgrade() -> None:
    """Remove the added columns."""
    for table, column in (
        ("flight", "software"),
        ("flight", "ironbird"),
        ("campaign", "files"),
        ("campaign", "software"),
    ):
        op.drop_column(table, column)
