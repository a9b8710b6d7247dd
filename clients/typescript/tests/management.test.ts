// Customers, keys, usage, limits and broken connections.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { before, test } from "node:test";

import { Tidemark, Unreachable, errors, type types } from "tidemark";

import { anyRank, collected, management, unique, url } from "./service.js";

const robot = management();
let customer: types.ManagedCustomer;
before(async () => void (customer = await robot.customers.create({ name: unique("Ada") })));
const issue = () => robot.keys.create({ customer: customer.id, tier: "basic", name: "trading" });

test("a key lives from its issue to its end", async () => {
  const issued = await issue();
  assert.equal((await new Tidemark(url, issued.secret).node.whoami().send()).tier, "basic");
  const { version } = issued;
  const changes = { scopes: ["historical"], callsPerMonth: 1_000 };
  const restricted = await robot.keys.change(issued.id, changes as types.PatchedManagedKeyChanges, { version });
  assert.deepEqual([restricted.scopes, restricted.callsPerMonth], [["historical"], 1_000n]);
  const rotated = await robot.keys.rotate(issued.id, { overlapHours: 1 });
  assert.equal(rotated.rotatedFrom, issued.id);
  assert.equal((await robot.keys.suspend(rotated.id)).state, "suspended");
  assert.equal((await robot.keys.resume(rotated.id)).state, "active");
  assert.equal((await robot.keys.revoke(rotated.id)).state, "revoked");
});

test("a change does not undo another one", async () => {
  const { id, version } = await issue();
  await robot.keys.change(id, { name: "sniping" }, { version });
  await assert.rejects(robot.keys.change(id, { name: "late" }, { version }), errors.VersionChanged);
  assert.equal((await robot.keys.get(id)).name, "sniping");
});

test("a repeated write takes effect once", async () => {
  const body = { customer: customer.id, tier: "basic", name: unique("once") };
  const idempotencyKey = crypto.randomUUID();
  const first = await robot.keys.create(body, { idempotencyKey });
  const again = await robot.keys.create(body, { idempotencyKey });
  assert.equal(again.secret, first.secret);
  const other = robot.keys.create({ ...body, name: "other" }, { idempotencyKey });
  await assert.rejects(other, errors.IdempotencyKeyReused);
  const { id } = customer;
  const named = await collected(robot.keys.list({ customer: id, name: body.name }));
  assert.equal(named.length, 1);
});

test("lists are iterated over pages", async () => {
  const owner = await robot.customers.create({ name: unique("Paging") });
  const issued: bigint[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) {
    issued.push((await robot.keys.create({ customer: owner.id, tier: "basic", name })).id);
  }
  const listed = await collected(robot.keys.list({ customer: owner.id, limit: 2 }));
  assert.deepEqual(listed.map((each) => each.id), issued.reverse());
});

test("invalid fields are named", async () => {
  const made = robot.keys.create({ customer: customer.id, tier: "none", name: "x" });
  await assert.rejects(made, (error) => {
    assert.ok(error instanceof errors.InvalidFields);
    assert.deepEqual(Object.keys(error.data.fields as object), ["tier"]);
    return true;
  });
  await assert.rejects(robot.keys.get(1_000_000_000), errors.NotFound);
});

test("usage is read and downloaded", async () => {
  const query = { span: "24h", customer: customer.id } as const;
  assert.equal(typeof (await robot.usage.read(query)).counts.counted, "bigint");
  assert.match(await robot.usage.csv(query), /^[\w,"]*method/);
});

test("a limited call waits as the service says, or fails with how long", async () => {
  const limits = { requestsPerSecond: 2, requestsBurst: 2 };
  const tier = await robot.tiers.create({ name: unique("slow"), rank: anyRank(), ...limits });
  const { secret } = await robot.keys.create({ customer: customer.id, tier: tier.name, name: "slow" });
  const patient = new Tidemark(url, secret);
  for (let call = 0; call < 5; call++) await patient.rewind.getRewindCoverage().send();
  const hasty = new Tidemark(url, secret, { retrySeconds: 0 });
  const many = async () => {
    for (let call = 0; call < 20; call++) await hasty.rewind.getRewindCoverage().send();
  };
  await assert.rejects(many, (error) => {
    assert.ok(error instanceof errors.RateLimited);
    assert.equal(error.status, 429);
    assert.ok(error.retryAfterSeconds !== null);
    return true;
  });
});

test("a text that is not a key is refused", async () => {
  const wrong = new Tidemark(url, `tmk_${"a".repeat(39)}`);
  await assert.rejects(wrong.node.whoami().send(), errors.KeyMalformed);
});

test("a service that never responded is not tried again", async () => {
  const began = Date.now();
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  for (const away of [`http://127.0.0.1:${port}`, "http://nothing.invalid"]) {
    await assert.rejects(new Tidemark(away).node.whoami().send(), (error) => {
      assert.ok(error instanceof Unreachable);
      assert.ok(error.message.startsWith(`no connection to ${away}: `), error.message);
      return true;
    });
  }
  assert.ok(Date.now() - began < 10_000); // other calls are repeated for 30 s
  assert.throws(() => new Tidemark("localhost:8000"), TypeError);
});
