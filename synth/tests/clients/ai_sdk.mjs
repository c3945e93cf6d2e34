// Talks to an agent as an application on the AI SDK does; prints what it saw as one line of JSON.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const [url, key] = process.argv.slice(2);
const synth = createOpenAICompatible({ name: "synth", baseURL: `${url}/v1`, apiKey: key, includeUsage: true });
const model = synth("synth/wren");
const seen = {};

const whole = await generateText({ model, system: "Be brief.", prompt: "ai-sdk whole", maxRetries: 0 });
seen.whole = { text: whole.text, finish: whole.finishReason, tokens: whole.usage.totalTokens };

const streamed = streamText({ model, prompt: "ai-sdk stream", maxRetries: 0 });
const pieces = [];
for await (const piece of streamed.textStream) pieces.push(piece);
seen.stream = { pieces, finish: await streamed.finishReason, tokens: (await streamed.usage).totalTokens };

const clock = tool({
  description: "The time.",
  inputSchema: jsonSchema({ type: "object", properties: { zone: { type: "string" } } }),
  execute: async ({ zone }) => ({ time: `noon in ${zone}` }),
});
for (const run of ["whole", "stream"]) {
  const asked = { model, prompt: `ai-sdk clock ${run}`, tools: { clock }, stopWhen: stepCountIs(3), maxRetries: 0 };
  const result = run === "whole" ? await generateText(asked) : streamText(asked);
  if (run === "stream") for await (const piece of result.textStream) void piece;
  const steps = await result.steps;
  seen[`tools_${run}`] = {
    text: await result.text,
    calls: steps.flatMap((step) => step.toolCalls.map((call) => [call.toolName, call.input])),
  };
}

try {
  await generateText({ model: synth("synth/nobody"), prompt: "x", maxRetries: 0 });
} catch (error) {
  seen.missing = { status: error.statusCode, message: error.message };
}
console.log(JSON.stringify(seen));
