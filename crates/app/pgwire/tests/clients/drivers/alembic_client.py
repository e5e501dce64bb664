"""Alembic: a migration up and down again, with the operations that most migrations have."""

import os
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{os.environ['PGPORT']}/shop")


def upgrade(op):
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("note", sa.Text),
    )
    op.execute("INSERT INTO account (name) VALUES ('one'), ('two')")
    op.add_column("account", sa.Column("active", sa.Boolean, nullable=False, server_default=sa.true()))
    op.alter_column("account", "name", new_column_name="title", type_=sa.String(60), existing_nullable=False)
    op.create_unique_constraint("account_title_key", "account", ["title"])
    op.create_index("account_active", "account", ["active"])
    op.create_table(
        "entry",
        sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("account_id", sa.Integer, nullable=False),
        sa.Column("amount", sa.Numeric(12, 2), nullable=False),
        sa.Column("kind", sa.Enum("debit", "credit", name="kind"), server_default="debit", nullable=False),
    )
    op.execute("ALTER TYPE kind ADD VALUE IF NOT EXISTS 'fee' BEFORE 'credit'")
    op.create_foreign_key("entry_account", "entry", "account", ["account_id"], ["id"])
    op.create_check_constraint("entry_positive", "entry", "amount > 0")
    op.bulk_insert(
        sa.table("entry", sa.column("account_id"), sa.column("amount")),
        [{"account_id": 1, "amount": 5}, {"account_id": 2, "amount": 7}],
    )


def downgrade(op):
    op.drop_constraint("entry_positive", "entry", type_="check")
    op.drop_constraint("entry_account", "entry", type_="foreignkey")
    op.drop_table("entry")
    sa.Enum(name="kind").drop(op.get_bind())
    op.drop_index("account_active", table_name="account")
    op.drop_constraint("account_title_key", "account", type_="unique")
    op.alter_column("account", "title", new_column_name="name")
    op.drop_column("account", "active")


for round in range(2):
    with engine.begin() as connection:
        upgrade(Operations(MigrationContext.configure(connection)))
    with engine.connect() as connection:
        joined = "SELECT title, active, amount FROM account JOIN entry ON account_id = account.id ORDER BY title"
        rows = [tuple(row) for row in connection.execute(sa.text(joined))]
        assert rows == [("one", True, 5), ("two", True, 7)], rows
        connection.execute(sa.text("UPDATE entry SET kind = 'fee' WHERE account_id = 1"))
        kinds = sa.text("SELECT DISTINCT kind FROM entry WHERE kind < 'credit' ORDER BY 1")
        assert connection.scalars(kinds).all() == ["debit", "fee"]
        connection.rollback()
    columns = {column["name"]: column for column in sa.inspect(engine).get_columns("account")}
    assert list(columns) == ["id", "title", "note", "active"], columns
    # A migration that fails leaves nothing.
    try:
        with engine.begin() as connection:
            op = Operations(MigrationContext.configure(connection))
            op.add_column("account", sa.Column("extra", sa.Integer))
            op.create_index("account_active", "account", ["extra"])
        raise AssertionError("there are two indexes of one name")
    except sa.exc.ProgrammingError:
        pass
    assert len(sa.inspect(engine).get_columns("account")) == 4
    with engine.begin() as connection:
        downgrade(Operations(MigrationContext.configure(connection)))
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["account"], inspector.get_table_names()
    assert [column["name"] for column in inspector.get_columns("account")] == ["id", "name", "note"]
    with engine.begin() as connection:
        Operations(MigrationContext.configure(connection)).drop_table("account")
print("Alembic is served")
