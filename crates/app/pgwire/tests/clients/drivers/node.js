// node-postgres: types, prepared statements, errors, transactions, a pool.

const assert = require('assert');
const { Client, Pool } = require('pg');

const config = { host: '127.0.0.1', port: Number(process.env.PGPORT), user: 'me', database: 'shop' };

async function typesAreRead(client) {
  await client.query(`create table t (id serial primary key, name text not null, amount numeric(10, 2),
    at timestamptz default now(), tags text[], doc jsonb, ok boolean, big bigint, raw bytea, f float8)`);
  const insert = `insert into t (name, amount, tags, doc, ok, big, raw, f)
    values ($1, $2, $3, $4, $5, $6, $7, $8) returning *`;
  const doc = { a: [1, { b: null }] };
  const values = ['a', 1.5, ['x', 'y "z"'], doc, true, '9007199254740993', Buffer.from([0, 1, 255]), 2.5];
  const { rows: [row], rowCount } = await client.query(insert, values);
  assert.strictEqual(rowCount, 1);
  assert.deepStrictEqual([row.id, row.amount, row.tags, row.doc], [1, '1.50', ['x', 'y "z"'], doc]);
  assert(row.at instanceof Date && row.raw.equals(values[6]));
  assert.deepStrictEqual([row.ok, row.big, row.f], [true, '9007199254740993', 2.5]);
}

async function statementsArePrepared(client) {
  const byId = { name: 'by-id', text: 'select name from t where id = $1', values: [1] };
  for (let run = 0; run < 8; run++) {
    assert.deepStrictEqual((await client.query(byId)).rows, [{ name: 'a' }]);
  }
  const several = await client.query('select 1 as a; select 2 as b');
  assert.deepStrictEqual(several.map((result) => result.rows), [[{ a: 1 }], [{ b: 2 }]]);
  const nulls = await client.query('select $1::text as x, $2::int as y', [null, 7]);
  assert.deepStrictEqual(nulls.rows, [{ x: null, y: 7 }]);
  assert.strictEqual((await client.query('select id from t where id = any($1)', [[1, 2, 3]])).rowCount, 1);
  const pairs = 'select * from unnest($1::int[], $2::text[]) as u(a, b)';
  assert.strictEqual((await client.query(pairs, [[1, 2], ['x', 'y']])).rowCount, 2);
  const arrays = await client.query({ text: 'select id, name from t', rowMode: 'array' });
  assert.deepStrictEqual(arrays.rows, [[1, 'a']]);
}

async function errorsHaveFields(client) {
  await assert.rejects(client.query('insert into t (id, name) values (1, $1)', ['b']), (error) => {
    assert.deepStrictEqual([error.code, error.schema, error.table, error.constraint], ['23505', 'public', 't', 't_pkey']);
    return error.detail === 'Key (id)=(1) already exists.';
  });
  await client.query('begin');
  await assert.rejects(client.query('select 1/0'), { code: '22012' });
  await assert.rejects(client.query('select 1'), { code: '25P02' });
  await client.query('rollback');
}

async function aPoolIsServed(client) {
  const pool = new Pool({ ...config, max: 5 });
  const insert = (number) => pool.query('insert into t (name, amount) values ($1, $2)', [`p${number}`, number]);
  await Promise.all([...Array(50).keys()].map(insert));
  const one = await pool.connect();
  await one.query('begin');
  await one.query('update t set amount = amount + 1 where id = 1');
  await one.query('commit');
  one.release();
  assert.deepStrictEqual((await client.query('select count(*)::int as n from t')).rows, [{ n: 51 }]);
  await pool.end();
}

(async () => {
  const client = new Client(config);
  await client.connect();
  await typesAreRead(client);
  await statementsArePrepared(client);
  await errorsHaveFields(client);
  await aPoolIsServed(client);
  await client.end();
  console.log('node-postgres is served');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
