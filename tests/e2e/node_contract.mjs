// The vendors' SDKs for Node against a server. Prints a line of JSON for each check: {name, error?}.
//
// node node_contract.mjs SDKS PLAIN SCRIPTED: the folder with node_modules, the address of a server with the default model, and of
// one whose model follows the script of scripted_model.py.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [sdks, plainUrl, scriptedUrl] = process.argv.slice(2);
const require = createRequire(`${sdks}/`);
const { OpenAI, BadRequestError, NotFoundError, APIUserAbortError } = require("openai");
const { zodResponseFormat, zodTextFormat } = require("openai/helpers/zod");
const Anthropic = require("@anthropic-ai/sdk").default;
const { betaTool } = require("@anthropic-ai/sdk/helpers/beta/json-schema");
const { z } = require("zod");

let keys = 0;
const options = (url, path = "") => ({ baseURL: url + path, apiKey: `node-${process.pid}-${keys++}`, maxRetries: 0 });
const openai = (url = plainUrl) => new OpenAI(options(url, "/v1"));
const claude = (url = plainUrl) => new Anthropic(options(url));

const model = "any-name";
const user = (content) => ({ role: "user", content });
const question = [user("What is the capital of France?")];
const answer = "The capital of France is Paris.";
const afterCall = "That file holds one word.";
const greedy = { model, temperature: 0, max_tokens: 12 };
const City = z.object({ name: z.string().max(20), inhabitants: z.number().int().min(1).max(9_000_000) });
const command = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const shortCommand = { ...command, properties: { command: { type: "string", maxLength: 20 } } };
const bash = { name: "Bash", description: "Runs a command", parameters: command };
const readFile = [user("What does notes.txt say?")];
const tooLong = [user("word ".repeat(9000))];

async function all(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

async function running(url = plainUrl) {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^vllm:num_requests_running\S* (\S+)$/m.exec(text)[1]);
}

async function ends() {
  for (let i = 0; i < 200 && (await running()) > 0; i++) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await running(), 0);
}

const checks = [];
const check = (name, run) => checks.push([name, run]);

// Chat completions.

check("chat: a reply, its finish and usage", async () => {
  const reply = await openai().chat.completions.create({ ...greedy, messages: question });
  assert.equal(reply.choices[0].message.content, answer);
  assert.equal(reply.choices[0].finish_reason, "stop");
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
  assert.match(reply._request_id, /^req_/);
});

check("chat: a stream's chunks", async () => {
  const chunks = await all(await openai().chat.completions.create({ ...greedy, messages: question, stream: true, stream_options: { include_usage: true } }));
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), answer);
  assert.deepEqual(chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean), ["stop"]);
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
  assert.deepEqual([chunks.at(-1).choices.length, chunks.at(-1).usage.completion_tokens], [0, 8]);
});

check("chat: the stream helper", async () => {
  const pieces = [];
  const stream = openai().chat.completions.stream({ ...greedy, messages: question, stream_options: { include_usage: true } });
  stream.on("content", (delta) => pieces.push(delta));
  assert.equal(await stream.finalContent(), answer);
  assert.equal(pieces.join(""), answer);
  assert.equal((await stream.totalUsage()).completion_tokens, 8);
});

check("chat: two choices", async () => {
  const reply = await openai().chat.completions.create({ ...greedy, messages: question, n: 2 });
  assert.deepEqual(reply.choices.map((choice) => [choice.index, choice.message.content]), [[0, answer], [1, answer]]);
});

check("chat: a stop string", async () => {
  const reply = await openai().chat.completions.create({ ...greedy, messages: question, stop: [" France"] });
  assert.deepEqual([reply.choices[0].message.content, reply.choices[0].finish_reason], ["The capital of", "stop"]);
});

check("chat: log probabilities", async () => {
  const reply = await openai().chat.completions.create({ ...greedy, messages: question, max_tokens: 2, logprobs: true, top_logprobs: 3 });
  const [first] = reply.choices[0].logprobs.content;
  assert.deepEqual([first.token, first.top_logprobs.length, first.top_logprobs[0].token], ["The", 3, "The"]);
});

check("chat: a parsed format", async () => {
  const reply = await openai().chat.completions.parse({ ...greedy, max_tokens: 200, messages: [user("Describe Paris as JSON.")], response_format: zodResponseFormat(City, "city") });
  City.parse(reply.choices[0].message.parsed);
});

check("chat: a forced call", async () => {
  const reply = await openai().chat.completions.create({ ...greedy, max_tokens: 200, messages: question, tools: [{ type: "function", function: { ...bash, parameters: shortCommand, strict: true } }], tool_choice: "required", parallel_tool_calls: false });
  const [call] = reply.choices[0].message.tool_calls;
  assert.deepEqual([reply.choices[0].finish_reason, call.type, call.function.name], ["tool_calls", "function", "Bash"]);
  assert.equal(typeof JSON.parse(call.function.arguments).command, "string");
});

check("chat: a call in the stream helper", async () => {
  const stream = openai(scriptedUrl).chat.completions.stream({ model, messages: readFile, tools: [{ type: "function", function: bash }] });
  const [call] = (await stream.finalMessage()).tool_calls;
  assert.match(JSON.parse(call.function.arguments).command, /^cat notes\.txt/);
});

check("chat: tools that the SDK runs", async () => {
  const ran = [];
  const tool = { type: "function", function: { ...bash, parse: JSON.parse, function: ({ command }) => (ran.push(command), "pelican") } };
  const runner = openai(scriptedUrl).chat.completions.runTools({ model, messages: readFile, tools: [tool], stream: true });
  assert.equal(await runner.finalContent(), afterCall);
  assert.equal(ran.length, 1);
});

check("chat: a bad request names its field", async () => {
  await assert.rejects(openai().chat.completions.create({ ...greedy, messages: [{ role: "wizard", content: "x" }] }), (error) => {
    assert.ok(error instanceof BadRequestError);
    assert.deepEqual([error.status, error.param, error.type], [400, "messages[0].role", "invalid_request_error"]);
    return true;
  });
});

check("chat: a prompt that is too long has its code", async () => {
  for (const stream of [false, true]) {
    await assert.rejects(openai().chat.completions.create({ ...greedy, messages: tooLong, stream }), { status: 400, code: "context_length_exceeded" });
  }
});

check("chat: an aborted stream ends its request", async () => {
  const controller = new AbortController();
  const stream = await openai().completions.create({ model, prompt: "Once upon a time", max_tokens: 7000, temperature: 0, stream: true }, { signal: controller.signal });
  for await (const _ of stream) break;
  controller.abort();
  await ends();
});

check("chat: an aborted request ends too", async () => {
  const controller = new AbortController();
  const reply = openai().chat.completions.create({ model, messages: [user("Write a very long story about a dragon.")], max_tokens: 6000, temperature: 0 }, { signal: controller.signal });
  setTimeout(() => controller.abort(), 300);
  await assert.rejects(reply, APIUserAbortError);
  await ends();
});

check("completions: a stream", async () => {
  const chunks = await all(await openai().completions.create({ model, prompt: "Once upon a time", max_tokens: 4, temperature: 0, stream: true }));
  assert.ok(chunks.map((chunk) => chunk.choices[0].text).join("").length > 4);
  assert.equal(chunks.at(-1).choices[0].finish_reason, "length");
});

check("models: a list and one of it", async () => {
  const client = openai();
  const { data } = await client.models.list();
  assert.equal((await client.models.retrieve(data[0].id)).id, data[0].id);
  await assert.rejects(client.models.retrieve("nothing"), NotFoundError);
});

check("embeddings are refused", () => assert.rejects(openai().embeddings.create({ model, input: "x" }), BadRequestError));

// Responses.

check("responses: a reply and its usage", async () => {
  const reply = await openai().responses.create({ model, input: question, temperature: 0, max_output_tokens: 16 });
  assert.deepEqual([reply.output_text, reply.status, reply.usage.output_tokens], [answer, "completed", 8]);
});

check("responses: a stream's events", async () => {
  const events = await all(await openai().responses.create({ model, input: question, temperature: 0, max_output_tokens: 16, stream: true }));
  const kinds = events.map((event) => event.type.replace("response.", ""));
  assert.deepEqual(kinds.filter((kind, at) => kind !== kinds[at - 1]), ["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta",
    "output_text.done", "content_part.done", "output_item.done", "completed"]);
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, at) => at));
  assert.equal(events.at(-1).response.id, events[0].response.id);
  assert.equal(events.at(-1).response.output[0].content[0].text, answer);
});

check("responses: the stream helper", async () => {
  const stream = openai().responses.stream({ model, input: question, temperature: 0, max_output_tokens: 16 });
  assert.equal((await stream.finalResponse()).output_text, answer);
});

check("responses: a parsed format", async () => {
  const reply = await openai().responses.parse({ model, temperature: 0, input: "Describe Paris as JSON.", max_output_tokens: 200, text: { format: zodTextFormat(City, "city") } });
  City.parse(reply.output_parsed);
});

check("responses: stored ones are gone on with, told and forgotten", async () => {
  const client = openai();
  const first = await client.responses.create({ model, input: question, temperature: 0, max_output_tokens: 16 });
  const second = await client.responses.create({ model, input: "Again?", previous_response_id: first.id, max_output_tokens: 16 });
  assert.ok(second.usage.input_tokens > first.usage.input_tokens && second.usage.input_tokens_details.cached_tokens > 0);
  assert.equal((await client.responses.retrieve(first.id)).output_text, answer);
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), NotFoundError);
});

check("responses: tokens are counted", async () => {
  const client = openai();
  const { input_tokens } = await client.responses.inputTokens.count({ model, input: question });
  assert.equal((await client.responses.create({ model, input: question, max_output_tokens: 16 })).usage.input_tokens, input_tokens);
});

check("responses: a call and its output", async () => {
  const client = openai(scriptedUrl);
  const tools = [{ type: "function", strict: false, ...bash }];
  const { output } = await client.responses.create({ model, input: readFile, tools });
  assert.deepEqual([output[0].type, output[0].name], ["function_call", "Bash"]);
  const input = [...readFile, ...output, { type: "function_call_output", call_id: output[0].call_id, output: "pelican" }];
  assert.equal((await client.responses.create({ model, input, tools })).output_text, afterCall);
});

check("responses: a bad request names its field", () =>
  assert.rejects(openai().responses.create({ model, input: [{ role: "wizard", content: "x" }] }), { status: 400, param: "input[0].role" }));

// Anthropic's messages.

const message = { model, max_tokens: 16, messages: question };
const claudeBash = { name: "Bash", description: "Runs a command", input_schema: command };

check("messages: a reply, its stop and usage", async () => {
  const reply = await claude(scriptedUrl).messages.create(message);
  assert.deepEqual([reply.content[0].text, reply.stop_reason, reply.usage.output_tokens], [answer, "end_turn", 8]);
});

check("messages: a stream's events", async () => {
  const events = await all(await claude(scriptedUrl).messages.create({ ...message, stream: true }));
  const kinds = events.map((event) => event.type).filter((kind, at, list) => kind !== list[at - 1]);
  assert.deepEqual(kinds, ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"]);
  assert.deepEqual(events[0].message.content, []);
});

check("messages: the stream helper", async () => {
  const pieces = [];
  const stream = claude(scriptedUrl).messages.stream(message).on("text", (delta) => pieces.push(delta));
  assert.equal((await stream.finalMessage()).content[0].text, answer);
  assert.equal(pieces.join(""), answer);
});

check("messages: tokens are counted", async () => {
  const client = claude();
  const body = { model, system: "Be brief.", messages: question, tools: [claudeBash] };
  const { input_tokens } = await client.messages.countTokens(body);
  assert.equal((await client.messages.create({ ...body, max_tokens: 1 })).usage.input_tokens, input_tokens);
});

check("messages: a call and its result", async () => {
  const client = claude(scriptedUrl);
  const call = await client.messages.create({ ...message, max_tokens: 200, messages: readFile, tools: [claudeBash] });
  const block = call.content.find(({ type }) => type === "tool_use");
  assert.deepEqual([call.stop_reason, block.name], ["tool_use", "Bash"]);
  const messages = [...readFile, { role: "assistant", content: call.content }, user([{ type: "tool_result", tool_use_id: block.id, content: "pelican" }])];
  assert.equal((await client.messages.create({ ...message, messages, tools: [claudeBash] })).content[0].text, afterCall);
});

check("messages: a call's JSON in the stream helper", async () => {
  const stream = claude(scriptedUrl).messages.stream({ ...message, max_tokens: 200, messages: readFile, tools: [claudeBash] });
  const block = (await stream.finalMessage()).content.find(({ type }) => type === "tool_use");
  assert.match(block.input.command, /^cat notes\.txt/);
});

check("messages: tools that the SDK runs", async () => {
  const ran = [];
  const tool = betaTool({ name: "Bash", description: "Runs a command", inputSchema: command, run: ({ command }) => (ran.push(command), "pelican") });
  const last = await claude(scriptedUrl).beta.messages.toolRunner({ ...message, max_tokens: 200, messages: readFile, tools: [tool] });
  assert.deepEqual([last.content[0].text, ran.length], [afterCall, 1]);
});

check("messages: a format", async () => {
  const schema = z.toJSONSchema(City);
  const reply = await claude().messages.create({ ...greedy, max_tokens: 200, messages: [user("Describe Paris as JSON.")], output_config: { format: { type: "json_schema", schema } } });
  City.parse(JSON.parse(reply.content[0].text));
});

check("messages: a marked prompt is created, then read", async () => {
  const client = claude();
  const system = [{ type: "text", text: "You are careful. ".repeat(40), cache_control: { type: "ephemeral" } }];
  const [first, second] = [await client.messages.create({ ...message, max_tokens: 1, system }), await client.messages.create({ ...message, max_tokens: 1, system })];
  assert.ok(first.usage.cache_creation_input_tokens > 0 && first.usage.cache_read_input_tokens === 0);
  assert.ok(second.usage.cache_creation_input_tokens === 0 && second.usage.cache_read_input_tokens >= first.usage.cache_creation_input_tokens);
});

check("messages: a bad request", () =>
  assert.rejects(claude().messages.create({ ...message, messages: [{ role: "wizard", content: "x" }] }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.deepEqual([error.status, error.error.error.type], [400, "invalid_request_error"]);
    return true;
  }));

check("messages: a prompt that is too long has its words", () =>
  assert.rejects(claude().messages.create({ ...message, messages: tooLong }), /prompt is too long: \d+ tokens > \d+ maximum/));

check("messages: an aborted stream ends its request", async () => {
  const stream = claude().messages.stream({ ...message, messages: [user("Write a very long story about a dragon.")], max_tokens: 6000 });
  await new Promise((resolve) => stream.once("text", resolve));
  stream.abort();
  await assert.rejects(stream.done(), Anthropic.APIUserAbortError);
  await ends();
});

check("messages: models tell how much fits", async () => {
  const { data } = await claude().models.list();
  assert.ok(data[0].max_input_tokens > 0 && data[0].display_name);
});

for (const [name, run] of checks) {
  let error;
  try {
    await run();
  } catch (thrown) {
    error = String(thrown.stack ?? thrown);
  }
  console.log(JSON.stringify({ name, error }));
}
