"""Migration: wall time of each flight."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of earlier flights the time is not known."""
    op.add_column("flight", sa.Column("wall_s", sa.Float))


def downgrade() -> None:
    """Remove the added column."""
    op.drop_column("flight", "wall_s")
