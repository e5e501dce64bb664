// pgjdbc: batches, both formats, portals in parts, savepoints, generated keys, metadata, time-outs,
// calls, COPY.

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.*;
import java.util.*;
import org.postgresql.PGConnection;

public class Jdbc {
    static final String URL = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/shop?user=me";
    static final Timestamp AT = Timestamp.valueOf("2026-01-01 10:00:00");
    static final UUID KEY = UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");

    interface Action {
        void run() throws SQLException;
    }

    interface Field<T> {
        T of(ResultSet rows) throws SQLException;
    }

    static void check(boolean holds, Object found) {
        if (!holds) throw new AssertionError(found);
    }

    static void fails(String state, Action action) throws SQLException {
        try {
            action.run();
        } catch (SQLException error) {
            check(state.equals(error.getSQLState()), error);
            return;
        }
        throw new AssertionError("no error " + state);
    }

    static void execute(Connection c, String... statements) throws SQLException {
        try (Statement s = c.createStatement()) {
            for (String statement : statements) s.execute(statement);
        }
    }

    static <T> List<T> all(ResultSet rows, Field<T> field) throws SQLException {
        List<T> found = new ArrayList<>();
        while (rows.next()) found.add(field.of(rows));
        rows.close();
        return found;
    }

    static void rowsAreWrittenInBatches(Connection c) throws SQLException {
        execute(c,
            "create table t (id int primary key, name varchar(20), amount numeric(10,2), at timestamp,"
                + " ok boolean, big bigint, f float8, raw bytea, d date, tags text[], u uuid)",
            "create index t_name on t (name)",
            "create table child (id serial primary key, t_id int not null references t (id))");
        c.setAutoCommit(false);
        String insert = "insert into t values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        try (PreparedStatement p = c.prepareStatement(insert)) {
            for (int id = 0; id < 30; id++) {
                p.setInt(1, id);
                p.setString(2, "name " + id);
                p.setBigDecimal(3, new BigDecimal("1.25"));
                p.setTimestamp(4, AT);
                p.setBoolean(5, id % 2 == 0);
                p.setLong(6, 1L << 40);
                p.setDouble(7, 0.5);
                p.setBytes(8, new byte[] {0, 1, -1});
                p.setDate(9, java.sql.Date.valueOf("2026-02-03"));
                p.setArray(10, c.createArrayOf("text", new String[] {"x", "y"}));
                p.setObject(11, KEY);
                p.addBatch();
            }
            check(p.executeBatch().length == 30, "batch");
        }
        c.commit();
        try (Connection other = DriverManager.getConnection(URL + "&reWriteBatchedInserts=true&prepareThreshold=1");
             PreparedStatement p = other.prepareStatement("insert into t (id, name) values (?, ?)")) {
            for (int id = 1000; id < 1300; id++) {
                p.setInt(1, id);
                p.setString(2, "z");
                p.addBatch();
            }
            p.executeBatch();
            execute(other, "delete from t where id >= 1000");
        }
    }

    // From the sixth run on, the driver asks for the binary format.
    static void rowsAreReadInBothFormats(Connection c) throws SQLException {
        try (PreparedStatement p = c.prepareStatement("select * from t where id = ?")) {
            for (int id = 0; id < 12; id++) {
                p.setInt(1, id);
                try (ResultSet r = p.executeQuery()) {
                    check(r.next() && r.getString("name").equals("name " + id), id);
                    check(r.getBigDecimal("amount").equals(new BigDecimal("1.25")), "amount");
                    check(r.getTimestamp("at").equals(AT), "at");
                    check(r.getBoolean("ok") == (id % 2 == 0), "ok");
                    check(r.getLong("big") == 1L << 40 && r.getDouble("f") == 0.5, "big, f");
                    check(r.getBytes("raw")[2] == -1 && r.getDate("d").toString().equals("2026-02-03"), "raw, d");
                    check(((String[]) r.getArray("tags").getArray())[1].equals("y"), "tags");
                    check(r.getObject("u").equals(KEY), "u");
                }
            }
        }
        try (Statement s = c.createStatement()) {
            s.setFetchSize(7);
            List<Integer> ids = all(s.executeQuery("select id from t order by id"), r -> r.getInt(1));
            check(ids.size() == 30 && ids.get(29) == 29, ids);
            s.setMaxRows(5);
            check(all(s.executeQuery("select id from t"), r -> r.getInt(1)).size() == 5, "max rows");
        }
    }

    static void transactionsAreAsInPostgresql(Connection c) throws SQLException {
        Savepoint savepoint = c.setSavepoint();
        fails("23505", () -> execute(c, "insert into t (id) values (1)"));
        c.rollback(savepoint);
        c.commit();
        String insert = "insert into child (t_id) values (?)";
        try (PreparedStatement p = c.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            p.setInt(1, 3);
            p.executeUpdate();
            check(all(p.getGeneratedKeys(), r -> r.getInt(1)).equals(List.of(1)), "generated");
            p.setInt(1, 999);
            fails("23503", p::executeUpdate);
            c.rollback();
        }
        c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        check(c.getTransactionIsolation() == Connection.TRANSACTION_SERIALIZABLE, "isolation");
        c.setReadOnly(true);
        fails("25006", () -> execute(c, "update t set ok = true"));
        c.rollback();
        c.setReadOnly(false);
        c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        c.setAutoCommit(true);
    }

    static void metadataIsThere(Connection c) throws SQLException {
        DatabaseMetaData m = c.getMetaData();
        Field<String> table = r -> r.getString("TABLE_NAME"), column = r -> r.getString("COLUMN_NAME");
        List<String> names = all(m.getTables(null, "public", "%", new String[] {"TABLE"}), table);
        check(names.equals(List.of("child", "t")), names);
        Field<String> described = r -> column.of(r) + ":" + r.getString("TYPE_NAME") + ":" + r.getInt("COLUMN_SIZE");
        names = all(m.getColumns(null, null, "t", "%"), described);
        String expected = "[id:int4:10, name:varchar:20, amount:numeric:10, at:timestamp:29, ok:bool:1, big:int8:19,"
            + " f:float8:17, raw:bytea:2147483647, d:date:13, tags:_text:2147483647, u:uuid:2147483647]";
        check(names.toString().equals(expected), names);
        check(all(m.getPrimaryKeys(null, null, "t"), column).equals(List.of("id")), "primary key");
        names = all(m.getIndexInfo(null, null, "t", false, false), r -> r.getString("INDEX_NAME"));
        check(names.equals(List.of("t_pkey", "t_name")), names);
        Field<String> refers = r -> r.getString("PKTABLE_NAME") + "." + r.getString("PKCOLUMN_NAME");
        check(all(m.getImportedKeys(null, null, "child"), refers).equals(List.of("t.id")), "imported");
        check(all(m.getExportedKeys(null, null, "t"), refers).equals(List.of("t.id")), "exported");
        check(all(m.getTypeInfo(), r -> r.getString(1)).contains("int4"), "types");
        check(all(m.getSchemas(), r -> r.getString(1)).contains("public"), "schemas");
        check(!all(m.getCatalogs(), r -> r.getString(1)).isEmpty(), "catalogs");
        for (ResultSet rows : List.of(m.getProcedures(null, null, "%"), m.getFunctions(null, null, "%"),
                m.getTablePrivileges(null, null, "t"), m.getBestRowIdentifier(null, null, "t", 0, true),
                m.getTableTypes())) {
            all(rows, r -> r.getString(1));
        }
        try (PreparedStatement p = c.prepareStatement("select id, name from t where amount > ?")) {
            ResultSetMetaData rows = p.getMetaData();
            check(rows.getColumnName(2).equals("name") && rows.getTableName(1).equals("t"), "names");
            check(rows.isNullable(1) == ResultSetMetaData.columnNoNulls, "nullable");
            check(p.getParameterMetaData().getParameterType(1) == Types.NUMERIC, "parameter");
        }
    }

    static void statementsAreCancelled(Connection c) throws SQLException {
        try (Connection other = DriverManager.getConnection(URL); Statement s = c.createStatement()) {
            execute(other, "select pg_advisory_lock(7)");
            s.setQueryTimeout(1);
            fails("57014", () -> s.execute("select pg_advisory_lock(7)"));
        }
    }

    static void callsAndCopiesRun(Connection c) throws Exception {
        execute(c, "create function twice(x int) returns int language plpgsql as $$ begin return 2 * x; end $$");
        try (CallableStatement call = c.prepareCall("{? = call twice(?)}")) {
            call.registerOutParameter(1, Types.INTEGER);
            call.setInt(2, 21);
            call.execute();
            check(call.getInt(1) == 42, "call");
        }
        var copies = c.unwrap(PGConnection.class).getCopyAPI();
        copies.copyIn("copy t (id, name) from stdin with (format csv)", new StringReader("100,x\n101,y\n"));
        check(copies.copyOut("copy t (id, name) to stdout", new StringWriter()) == 32, "copied");
        try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
             ResultSet r = s.executeQuery("select id, name from t order by id")) {
            r.absolute(3);
            r.updateString("name", "changed");
            r.updateRow();
        }
        check(c.isValid(3), "valid");
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection c = DriverManager.getConnection(URL)) {
            rowsAreWrittenInBatches(c);
            rowsAreReadInBothFormats(c);
            transactionsAreAsInPostgresql(c);
            metadataIsThere(c);
            statementsAreCancelled(c);
            callsAndCopiesRun(c);
        }
        System.out.println("pgjdbc is served");
    }
}
