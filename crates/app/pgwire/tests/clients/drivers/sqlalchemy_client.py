"""SQLAlchemy: mapped classes, their queries, and the reflection of a database."""

import datetime
import decimal
import enum
import os
import uuid
from sqlalchemy import *
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import *

engine = create_engine(f"postgresql+psycopg://me@127.0.0.1:{os.environ['PGPORT']}/shop")


class Base(DeclarativeBase):
    pass


class State(enum.Enum):
    open = "open"
    sent = "sent"
    paid = "paid"


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    key: Mapped[uuid.UUID]
    since: Mapped[datetime.datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    doc: Mapped[dict] = mapped_column(JSONB)
    tags: Mapped[list[str]] = mapped_column(ARRAY(Text))
    orders: Mapped[list["Order"]] = relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = (CheckConstraint("amount > 0", name="positive"), Index("by_day", "day", "customer_id"))
    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customer.id"))
    day: Mapped[datetime.date]
    amount: Mapped[decimal.Decimal] = mapped_column(Numeric(10, 2))
    state: Mapped[State] = mapped_column(default=State.open)
    customer: Mapped[Customer] = relationship(back_populates="orders")


def customer(number):
    orders = [
        Order(day=datetime.date(2026, 1, 1 + at), amount=decimal.Decimal("1.25") * (at + 1)) for at in range(3)
    ]
    doc = {"a": number, "b": [1, 2]}
    return Customer(name=f"c{number}", key=uuid.uuid4(), doc=doc, tags=["x", f"t{number}"], orders=orders)


def rows_are_written_and_read(session):
    session.add_all(customer(number) for number in range(10))
    session.commit()
    assert session.scalar(select(func.count()).select_from(Order)) == 30
    total = func.sum(Order.amount).label("total")
    best = select(Customer.name, total).join(Order).group_by(Customer.name)
    best = session.execute(best.order_by(desc("total"), Customer.name).limit(3)).all()
    assert best[0] == ("c0", decimal.Decimal("7.50")), best
    by_name = select(Customer).options(selectinload(Customer.orders)).where(Customer.name == "c3")
    third = session.scalars(by_name).one()
    assert len(third.orders) == 3 and third.doc["a"] == 3 and third.tags == ["x", "t3"]
    assert all(order.state is State.open for order in third.orders)
    third.orders[1].state = State.paid
    third.orders[2].state = State.sent
    session.commit()
    states = select(Order.state).where(Order.customer_id == third.id).order_by(Order.state)
    assert session.scalars(states).all() == [State.open, State.sent, State.paid]
    late = select(func.count()).select_from(Order).where(Order.state > State.open)
    assert session.scalar(late) == 2
    assert session.scalar(late.where(Order.state.in_([State.paid, State.open]))) == 1
    session.delete(third.orders[0])
    session.commit()
    session.refresh(third)
    assert len(third.orders) == 2
    joined = select(Customer).options(joinedload(Customer.orders)).order_by(Customer.id)
    assert len(session.scalars(joined).unique().all()) == 10


def documents_arrays_and_sub_selects_are_searched(session):
    name = select(Customer.name)
    assert session.scalar(name.where(Customer.doc["a"].as_integer() == 5)) == "c5"
    assert session.scalar(name.where(Customer.doc.contains({"a": 6}))) == "c6"
    assert session.scalar(name.where(any_(Customer.tags) == "t7")) == "c7"
    per = select(Order.customer_id, func.count().label("n")).group_by(Order.customer_id).cte("per")
    with_counts = select(Customer.name, per.c.n).join(per, per.c.customer_id == Customer.id)
    assert len(session.execute(with_counts).all()) == 10
    large = select(Order.customer_id).where(Order.amount > 3)
    assert session.scalars(select(Customer).where(Customer.id.in_(large))).all()
    assert session.scalars(select(Customer).where(exists().where(Order.customer_id == Customer.id))).all()


def conflicts_and_savepoints_are_borne(session):
    upsert = insert(Customer).values(id=1, name="c0", key=uuid.uuid4(), doc={}, tags=[])
    upsert = upsert.on_conflict_do_update(index_elements=["id"], set_={"name": "new"})
    assert session.scalar(upsert.returning(Customer.name)) == "new"
    session.commit()
    try:
        session.add(Customer(name="new", key=uuid.uuid4(), doc={}, tags=[]))
        session.commit()
        raise AssertionError("the name is taken")
    except IntegrityError as error:
        assert error.orig.diag.table_name == "customer", error.orig.diag.table_name
        session.rollback()
    before = session.scalar(select(func.sum(Order.amount)))
    with session.begin_nested() as nested:
        session.execute(update(Order).values(amount=Order.amount + 1))
        nested.rollback()
    assert session.scalar(select(func.sum(Order.amount))) == before
    session.execute(select(Customer).where(Customer.id == 2).with_for_update())
    session.execute(delete(Order).where(Order.customer_id == 5))
    session.commit()


def a_database_is_reflected():
    inspector = inspect(engine)
    assert sorted(inspector.get_table_names()) == ["customer", "orders"]
    columns = inspector.get_columns("customer")
    assert [column["name"] for column in columns] == ["id", "name", "key", "since", "doc", "tags"]
    assert str(columns[1]["type"]) == "VARCHAR(40)" and columns[3]["default"] == "now()"
    assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["id"]
    [state] = inspector.get_enums()
    assert (state["name"], state["labels"]) == ("state", ["open", "sent", "paid"]), state
    types = {column["name"]: column["type"] for column in inspector.get_columns("orders")}
    assert types["state"].enums == ["open", "sent", "paid"], types
    [key] = inspector.get_foreign_keys("orders")
    assert (key["referred_table"], key["referred_columns"]) == ("customer", ["id"])
    [index] = inspector.get_indexes("orders")
    assert (index["name"], index["column_names"]) == ("by_day", ["day", "customer_id"]), index
    [unique] = inspector.get_unique_constraints("customer")
    assert unique["column_names"] == ["name"]
    [check] = inspector.get_check_constraints("orders")
    assert check["name"] == "positive"
    assert sorted(inspector.get_schema_names()) == ["information_schema", "public"]
    reflected = MetaData()
    reflected.reflect(engine)
    assert set(reflected.tables) == {"customer", "orders"}


def connections_have_options():
    for level in ["SERIALIZABLE", "REPEATABLE READ", "AUTOCOMMIT"]:
        with engine.connect().execution_options(isolation_level=level) as connection:
            connection.execute(text("select 1"))
    with engine.connect().execution_options(stream_results=True) as connection:
        assert len(list(connection.execute(select(Order)))) > 5


Base.metadata.create_all(engine)
Base.metadata.create_all(engine)
with Session(engine) as session:
    rows_are_written_and_read(session)
    documents_arrays_and_sub_selects_are_searched(session)
    conflicts_and_savepoints_are_borne(session)
a_database_is_reflected()
connections_have_options()
Base.metadata.drop_all(engine)
print("SQLAlchemy is served")
