// A tour of the routes with a client that is generated from the OpenAPI document. Types come from
// nowhere else, so what isn't described doesn't compile.
//
//     node tour.js URL SECRET REPOSITORY
import createClient from "openapi-fetch";
import type { components, paths } from "./signalbox.js";

declare const process: { argv: string[]; exitCode: number };

type Schemas = components["schemas"];

const [url, secret, repository] = process.argv.slice(2);
if (url === undefined || secret === undefined || repository === undefined) {
  throw new Error("usage: node tour.js URL SECRET REPOSITORY");
}
// As the document says, a parameter with several values has them separated by commas.
const querySerializer = { array: { style: "form", explode: false } } as const;
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${secret}` }, querySerializer });
const patience_ms = 60_000;

function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

/** Returns the data of an answer; throws with the problem if it has none. */
function expected<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) {
    throw new Error(`${answer.response.status} ${JSON.stringify(answer.error)}`);
  }
  return answer.data;
}

/** Returns the code of a refusal, which has this status. */
function refusal(answer: { error?: Schemas["Problem"]; response: Response }, status: number) {
  check(answer.response.status === status, `${answer.response.status} and not ${status}`);
  check(answer.error !== undefined, "a refusal has a problem");
  const commands: string[] = answer.error.next_commands;
  check(Array.isArray(commands), "a problem has its next commands");
  return answer.error.code;
}

async function start(pipeline: Schemas["Pipeline"], key?: string): Promise<Schemas["StartedRun"]> {
  const params = key === undefined ? {} : { header: { "Idempotency-Key": key } };
  const body = { goal: "tour the routes", labels: { team: "tour" }, input: { any: [1, null] }, pipeline };
  return expected(await client.POST("/v1/runs", { params, body }));
}

const of_run = (run_id: string) => ({ params: { path: { run_id } } });

async function get(run_id: string): Promise<Schemas["Run"]> {
  return expected(await client.GET("/v1/runs/{run_id}", of_run(run_id))).run;
}

/** Blocks until the run has the status; returns it then. */
async function until(run_id: string, status: Schemas["RunStatus"]): Promise<Schemas["Run"]> {
  const deadline = Date.now() + patience_ms;
  for (;;) {
    const run = await get(run_id);
    if (run.status === status) return run;
    check(Date.now() < deadline, `run ${run_id} is ${run.status} and never ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function runs_are_started_once_and_listed() {
  const pipeline: Schemas["Pipeline"] = {
    name: "waits",
    budget: { tokens: 1000 },
    station: [{ name: "only", executor: "worker", timeout: "1h", retry: { max_retries: 2, strategies: ["original"] } }],
  };
  const first = await start(pipeline, "tour-1");
  const second = await start(pipeline, "tour-1");
  check(first.run_id === second.run_id && !first.replayed && second.replayed, "a key is one run");
  const query = { status: ["queued" as const, "paused" as const], label: "team=tour", totals: true, limit: 1 };
  const page = expected(await client.GET("/v1/runs", { params: { query } }));
  const row = page.runs[0];
  check(row !== undefined && row.run_id === first.run_id, "the run is listed");
  const index: number = row.station_index + row.stations_total;
  check(index === 1 && page.next_cursor === null, "it is the only one");
  check(page.totals?.queued === 1, "the totals have it");

  const run = await get(first.run_id);
  const budget: string | number = run.budget.tokens;
  check(budget === 1000 && run.used.turns === 0, "a run has its budget");
  const why = expected(await client.GET("/v1/runs/{run_id}/why", of_run(first.run_id)));
  const reason: Schemas["WhyReason"] | undefined = why.reasons[0];
  check(reason?.reason === "no_worker" && !why.moving, `it waits for a worker: ${reason?.text}`);

  const body = { reason: "lunch" };
  const paused = expected(await client.POST("/v1/runs/{run_id}/pause", { ...of_run(first.run_id), body }));
  check(paused.changed && paused.status === "paused", "it is paused");
  check((await get(first.run_id)).paused_reason === "lunch", "it says why");
  const resumed = expected(await client.POST("/v1/runs/{run_id}/resume", { ...of_run(first.run_id), body: {} }));
  check(resumed.changed, "it goes on");
  const canceled = expected(await client.POST("/v1/runs/{run_id}/cancel", { ...of_run(first.run_id), body }));
  check(canceled.cancel_requested && canceled.status === "canceled", "it is canceled");
  const cancel = (await get(first.run_id)).cancel;
  check(cancel?.reason === "lunch" && cancel.actor === "token:tour", `who canceled it, and why: ${JSON.stringify(cancel)}`);
}

async function a_question_is_decided() {
  const { run_id } = await start({ name: "asks", station: [{ name: "ask", executor: "approval" }] });
  const station = (await get(run_id)).stations[0];
  check(station?.waiting_for === "approval" && station.asked !== undefined, "it asks");
  const asked = Number(station.asked);
  const wrong = await client.POST("/v1/runs/{run_id}/resume", {
    ...of_run(run_id), body: { decision: "approve", asked: asked + 1 },
  });
  check(refusal(wrong, 409) === "NOT_WAITING_FOR_APPROVAL", "another question isn't decided");
  expected(await client.POST("/v1/runs/{run_id}/resume", { ...of_run(run_id), body: { decision: "approve", asked } }));
  const decided = (await until(run_id, "succeeded")).stations[0]?.decided;
  check(decided?.decision === "approve" && decided.actor === "token:tour", "it says who decided");
}

async function a_failed_run_is_retried() {
  const { run_id } = await start({
    name: "fails",
    station: [{ name: "fail", executor: "process", command: ["sh", "-c", "exit 3"], retry: { max_retries: 0 } }],
  });
  const failed = await until(run_id, "failed");
  const error = failed.stations[0]?.attempts[0]?.error;
  check(error?.error_class === "terminal" && failed.error?.code === error.code, "it says why it failed");
  const retried = expected(await client.POST("/v1/runs/{run_id}/retry", {
    ...of_run(run_id), body: { max_retries: 0, strategy: "original" },
  }));
  check(retried.station === "fail" && retried.strategy === "original", "it is tried again");
  const again = await until(run_id, "failed");
  check(again.retries?.[0]?.station === "fail", "it says that it was retried");
}

async function artifacts_are_read() {
  const { run_id } = await start({
    name: "makes",
    station: [{ name: "make", executor: "process", command: ["sh", "-c", 'echo hello > "$SIGNALBOX_ARTIFACTS_DIR/a.txt"'] }],
  });
  const run = await until(run_id, "succeeded");
  const left = run.stations[0]?.attempts[0]?.artifacts.find((each) => each.name === "a.txt");
  check(left !== undefined && left.current && left.path.length > 0, "the run has its artifact");
  const { artifacts } = expected(await client.GET("/v1/runs/{run_id}/artifacts", of_run(run_id)));
  const listed = artifacts.find((each) => each.name === "a.txt");
  check(listed?.sha256 === left.sha256 && listed.bytes === 6, "it is listed");
  const path = { run_id, name: "a.txt" };
  const whole = await client.GET("/v1/runs/{run_id}/artifacts/{name}", { params: { path }, parseAs: "text" });
  check(expected(whole) === "hello\n", "it is as it was left");
  const part = await client.GET("/v1/runs/{run_id}/artifacts/{name}", {
    params: { path, header: { Range: "bytes=0-3" } }, parseAs: "text",
  });
  check(expected(part) === "hell" && part.response.status === 206, "a part of it");
  const none = await client.GET("/v1/runs/{run_id}/artifacts/{name}", {
    params: { path: { run_id, name: "b.txt" } }, parseAs: "text",
  });
  check(none.response.status === 404, "there is no other");
}

async function an_output_is_read() {
  const { run_id } = await start({
    name: "prints", station: [{ name: "print", executor: "process", command: ["sh", "-c", "echo hello"] }],
  });
  await until(run_id, "succeeded");
  const page = expected(await client.GET("/v1/runs/{run_id}/log", of_run(run_id)));
  check(page.text === "hello\n" && page.job_id.length > 0, "as a page");
  const path = { run_id };
  const whole = await client.GET("/v1/runs/{run_id}/output", { params: { path }, parseAs: "text" });
  check(expected(whole) === "hello\n", "as it was printed");
  const part = await client.GET("/v1/runs/{run_id}/output", {
    params: { path, query: { station: "print", stream: "stdout" }, header: { Range: "bytes=-3" } }, parseAs: "text",
  });
  check(expected(part) === "lo\n" && part.response.status === 206, "its end");
}

async function a_project_is_put() {
  const refused = await client.PUT("/v1/projects/{name}", {
    params: { path: { name: "site" } }, body: { repository: "/nowhere/site", keep_pipeline: false },
  });
  check(refusal(refused, 422) === "INVALID_PARAMS", "there is no such repository");
  const put = expected(await client.PUT("/v1/projects/{name}", {
    params: { path: { name: "site" } }, body: { repository: repository! },
  }));
  check(put.changed && put.name === "site", "it is put");
}

async function a_card_is_started_before_others() {
  const submitted = expected(await client.POST("/rpc", {
    body: { jsonrpc: "2.0", id: 1, method: "card.submit", params: { project: "site", title: "soon", immediate: false } },
  }));
  const card_id = String(submitted?.result?.["card_id"]);
  const path = { card_id };
  const set = expected(await client.POST("/v1/cards/{card_id}/priority", { params: { path }, body: { priority: 5, reason: "soon" } }));
  check(set.changed && set.priority === 5 && set.card_id === card_id, "it has its priority");
  const beyond = await client.POST("/v1/cards/{card_id}/priority", { params: { path }, body: { priority: 1_000_001 } });
  check(refusal(beyond, 422) === "INVALID_PARAMS", "a priority has bounds");
}

async function events_are_followed() {
  const answer = await client.GET("/v1/events", {
    params: { query: { from: 1, types: ["RunStarted"] } }, parseAs: "stream",
  });
  const reader = (expected(answer) as unknown as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!/^data: .*\n\n/m.test(text)) {
    const { done, value } = await reader.read();
    check(!done, `the stream ended: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  const event: Schemas["Event"] = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? "{}");
  check(event.type === "RunStarted" && event.actor === "token:tour", `the first run: ${text}`);
}

async function records_are_read_with_what_proves_them() {
  const page = expected(await client.GET("/v1/audit/records", { params: { query: { from: 1, limit: 2 } } }));
  check(page.records.length === 2 && page.more && Number(page.next_from) === 3, "the first two");
  check(page.records[0]!.position === "1" && page.records[0]!.leafhash.length === 44, "each with its leaf");
}

async function refusals_are_problems() {
  const run_id = "00000000-0000-7000-8000-000000000000";
  check(refusal(await client.GET("/v1/runs/{run_id}", of_run(run_id)), 404) === "RUN_NOT_FOUND", "no such run");
  const wrong = await client.GET("/v1/runs", { params: { query: { limit: 0 } } });
  check(refusal(wrong, 422) === "INVALID_PARAMS" && wrong.error?.details["field"] === "limit", "no page of 0");
  const nobody = createClient<paths>({ baseUrl: url! });
  check(refusal(await nobody.GET("/v1/runs"), 401) === "UNAUTHENTICATED", "a token is needed");
}

async function the_service_says_how_it_is() {
  check(expected(await client.GET("/healthz")).status === "ok", "it lives");
  check(expected(await client.GET("/readyz")).status === "ready", "it is ready");
  check(expected(await client.GET("/version")).name === "signalbox", "it has a name");
  const metrics: string = expected(await client.GET("/metrics", { parseAs: "text" }));
  check(metrics.includes("signalbox_log_position"), "it has metrics");
  check(expected(await client.GET("/openapi.json"))["openapi"] === "3.1.0", "it describes itself");
  check(expected(await client.GET("/openrpc.json"))["openrpc"] === "1.3.2", "and its methods");
  const answer = expected(await client.POST("/rpc", { body: { jsonrpc: "2.0", id: 1, method: "no.such" } }));
  check(answer?.error?.data.code === "METHOD_NOT_FOUND", "methods are called, and refused");
}

// What doesn't compile: a client finds out before it asks.
async function mistakes_are_found_by_the_compiler() {
  // @ts-expect-error a station has no such key
  const misspelled: Schemas["PipelineStation"] = { name: "make", comand: ["make"] };
  // @ts-expect-error there is no such executor
  const unknown: Schemas["PipelineStation"] = { name: "make", executor: "robot" };
  // @ts-expect-error a pipeline has stations
  const empty: Schemas["Pipeline"] = { name: "empty" };
  const read = (run: Schemas["Run"], why: Schemas["Why"]) => [
    // @ts-expect-error a run has no such key
    run.nothing,
    // @ts-expect-error neither has the reason why
    why.nothing,
  ];
  // @ts-expect-error a priority is a number that is given
  const unset: Schemas["SetPriority"] = { reason: "soon" };
  // @ts-expect-error there is no such parameter
  const asked = () => client.GET("/v1/runs", { params: { query: { state: "queued" } } });
  check([misspelled, unknown, empty, read, unset, asked].length === 6, "they were compiled");
}

const tour = [
  runs_are_started_once_and_listed, a_question_is_decided, a_failed_run_is_retried, artifacts_are_read, an_output_is_read, a_project_is_put,
  a_card_is_started_before_others, events_are_followed, records_are_read_with_what_proves_them, refusals_are_problems, the_service_says_how_it_is, mistakes_are_found_by_the_compiler,
];
for (const part of tour) {
  try {
    await part();
    console.log(`ok     ${part.name}`);
  } catch (error) {
    console.log(`FAILED ${part.name}: ${error}`);
    process.exitCode = 1;
  }
}
