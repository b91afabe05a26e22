"""Many clients at once, of all dialects, of which some leave in the middle: each gets the reply that it would get alone."""
import asyncio
import random

import anthropic
import openai
from server import MODEL, fresh_key

LENGTH = 12
QUESTIONS = [f"What is {number} plus {number + 1}?" for number in range(6)]


class Clients:
    def __init__(self, server):
        key = fresh_key()
        http = {"max_retries": 0, "api_key": key, "timeout": 60}
        self.openai = openai.AsyncOpenAI(base_url=f"{server.url}/v1", http_client=openai.DefaultAsyncHttpxClient(trust_env=False), **http)
        self.anthropic = anthropic.AsyncAnthropic(base_url=server.url, http_client=anthropic.DefaultAsyncHttpxClient(trust_env=False), **http)

    async def chat(self, question, leaves):
        text = ""
        async with await self.openai.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": question}], max_tokens=LENGTH, temperature=0,
                                                             stream=True) as stream:
            async for chunk in stream:
                text += chunk.choices[0].delta.content or ""
                if leaves and text:
                    return None
        return text

    async def response(self, question, _):
        reply = await self.openai.responses.create(model=MODEL, input=question, max_output_tokens=LENGTH, temperature=0)
        return reply.output_text

    async def message(self, question, leaves):
        text = ""
        async with self.anthropic.messages.stream(model=MODEL, messages=[{"role": "user", "content": question}], max_tokens=LENGTH,
                                                  extra_body={"temperature": 0}) as stream:
            async for piece in stream.text_stream:
                text += piece
                if leaves:
                    return None
        return text


async def ask_all(server):
    clients = Clients(server)
    alone = {question: await clients.chat(question, False) for question in QUESTIONS}
    order = random.Random(7)
    jobs = [(order.choice([clients.chat, clients.response, clients.message]), order.choice(QUESTIONS), order.random() < 0.3) for _ in range(60)]
    together = await asyncio.gather(*(ask(question, leaves) for ask, question, leaves in jobs))
    return alone, [(question, text) for (_, question, _), text in zip(jobs, together)]


def test_each_of_many_gets_the_reply_that_it_would_get_alone(server):
    alone, together = asyncio.run(ask_all(server))
    assert len(set(alone.values())) > 3 and sum(text is None for _, text in together) > 5
    assert [(question, text) for question, text in together if text not in (None, alone[question])] == []
    server.wait_for_metric("vllm:num_requests_running", 0)
    now = server.metrics()
    assert now["folio_kv_blocks_used"] == now["vllm:num_requests_waiting"] == now["folio_requests_failed_total"] == 0
