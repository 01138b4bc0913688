"""Migration: tables of campaigns and their flights."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of campaigns and flights."""
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("ironbird", sa.String(40), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    op.create_table(
        "flight",
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("flight_id", sa.String(300), nullable=False),
        sa.Column("case_id", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("verdict", sa.String(8)),
        sa.Column("margin", sa.Float),
        sa.Column("score", sa.Float),
        sa.Column("sha256", sa.String(64)),
        sa.Column("result", sa.Text),
        sa.UniqueConstraint("campaign_id", "flight_id"),
    )
    op.create_index("flight_by_verdict", "flight", ["campaign_id", "verdict"])


def downgrade() -> None:
    """Remove the tables of campaigns and flights."""
    op.drop_table("flight")
    op.drop_table("campaign")
