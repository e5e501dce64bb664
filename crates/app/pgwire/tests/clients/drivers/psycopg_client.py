"""psycopg 3: parameters in both formats, errors, savepoints, COPY, pipelines, cursors."""

import json
import psycopg

dsn = "dbname=postgres"
with psycopg.connect(dsn) as connection:
    connection.execute("create table t (id int primary key, name text, amount numeric(10,2), at timestamp)")
    with connection.cursor() as cursor:
        cursor.executemany("insert into t values (%s, %s, %s, %s)",
                           [(i, f"name {i}", i, "2026-01-01 10:00") for i in range(20)])
    connection.commit()
    for i in range(10):
        row = connection.execute("select name, amount, at from t where id = %s", (i,)).fetchone()
        assert row[0] == f"name {i}" and row[1] == i and row[2].year == 2026, row
    row = connection.execute("select id, amount from t where id = %b", (3,), binary=True).fetchone()
    assert row[0] == 3 and row[1] == 3, row
    connection.rollback()
    try:
        with connection.transaction():
            connection.execute("insert into t values (100, 'a', 1, null)")
            with connection.transaction():
                connection.execute("insert into t values (1, 'b', 1, null)")
    except psycopg.errors.UniqueViolation as error:
        assert error.diag.constraint_name == "t_pkey", error.diag.constraint_name
    assert connection.execute("select count(*) from t").fetchone() == (20,)
    with connection.cursor().copy("copy t (id, name) from stdin") as copy:
        for i in range(200, 210):
            copy.write_row((i, "copied"))
    with connection.pipeline():
        for i in range(300, 310):
            connection.execute("insert into t (id) values (%s)", (i,))
    connection.commit()
    assert connection.execute("select count(*) from t").fetchone() == (40,)
    with connection.cursor("some") as cursor:
        cursor.itersize = 7
        cursor.execute("select id from t order by id")
        assert sum(1 for _ in cursor) == 40
    explained = connection.execute("explain (analyze, format json) select count(*) from t").fetchone()[0]
    explained = json.loads(explained) if isinstance(explained, str) else explained
    assert explained[0]["Plan"]["Node Type"] == "Aggregate", explained
    assert explained[0]["Plan"]["Actual Rows"] == 1 and explained[0]["Execution Time"] > 0, explained
    assert connection.info.server_version >= 150000
print("psycopg", psycopg.__version__, "is served")
