"""What flew: version and code of Ironbird for each campaign and flight, files of the vehicles."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; of what was stored before, nothing is known but the campaign's version."""
    op.add_column("campaign", sa.Column("software", sa.String(64)))
    op.add_column("campaign", sa.Column("files", sa.Text))
    op.add_column("flight", sa.Column("ironbird", sa.String(40)))
    op.add_column("flight", sa.Column("software", sa.String(64)))


def downgrade() -> None:
    """Remove them."""
    for table, column in (
        ("flight", "software"),
        ("flight", "ironbird"),
        ("campaign", "files"),
        ("campaign", "software"),
    ):
        op.drop_column(table, column)
