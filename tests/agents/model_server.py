"""A model server on loopback that answers as a script says: the Messages API and the Responses API.

It keeps a count of its own of what it has answered, as a provider's bill would: requests, tokens, and
for the Messages API the cost by list prices.
"""
import http.server
import json
import threading
import time

# US dollars per million tokens: input, output, cache write, cache read.
PRICES = {"opus": (5, 25, 6.25, 0.5), "sonnet": (3, 15, 3.75, 0.3), "haiku": (1, 5, 1.25, 0.1)}
REQUEST_BYTES_MAX = 64 << 20
HANG_SECONDS_MAX = 300


class Request:
    """One request for an answer of the model."""

    def __init__(self, api, body, number, headers):
        self.api = api          # "messages" or "responses"
        self.body = body
        self.number = number    # 1 for the first request of this kind
        self.headers = headers
        self.tools = {tool.get("name", tool.get("type")) for tool in body.get("tools") or []}

    def text(self):
        """Returns the whole conversation as JSON, to look for words in it."""
        return json.dumps(self.body.get("messages" if self.api == "messages" else "input"),
                          ensure_ascii=False)

    def tool_results(self):
        """Returns how many results of tools the conversation has."""
        return self.text().count('"tool_result"') + self.text().count('_call_output"')


class Answer:
    """What the model says: texts and calls of tools, in this order, and what is billed for it."""

    def __init__(self, *parts, tokens_in=1000, tokens_out=100, cache_read=0, cache_write=0):
        self.parts = parts      # a text, or (tool, input), of which a custom tool's is a text
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.cache_read = cache_read
        self.cache_write = cache_write

    def tokens(self):
        return self.tokens_in + self.tokens_out + self.cache_read + self.cache_write


class Refusal:
    """An answer with an error's status."""

    def __init__(self, status, kind, message, headers=(), **more):
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = dict(headers)
        self.more = more


class Hang:
    """No answer, until the client gives up or the server stops."""


class Garbage:
    """An answer that isn't one, with a good status."""


def cost_microusd(model, answer):
    """Returns the list price of an answer in millionths of a US dollar."""
    price = next((each for name, each in PRICES.items() if name in model), PRICES["sonnet"])
    return (answer.tokens_in * price[0] + answer.tokens_out * price[1] +
            answer.cache_write * price[2] + answer.cache_read * price[3])


class Bill:
    """What was answered so far."""

    def __init__(self):
        self.requests = 0
        self.tokens = 0
        self.cost_microusd = 0.0
        self.refused = 0

    def add(self, model, answer):
        self.requests += 1
        self.tokens += answer.tokens()
        self.cost_microusd += cost_microusd(model, answer)


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that was killed, or closes early, is no error here."""


class ModelServer:
    """Answers with `script(request)`, which returns an Answer, a Refusal, or a Hang.

    A request without tools is one of the agent's own beside the work, such as for a title. It is
    answered, billed and counted as well, but never reaches the script.
    """

    def __init__(self, script):
        self.script = script
        self.bill = Bill()
        self.account_of = None  # a function of a request's body; what it returns has its own bill
        self.bills = {}
        self.requests = []      # (method, path) of each, for a failure's report
        self.last_bodies = []
        self.stopped = threading.Event()
        self.numbers = {}
        self.lock = threading.Lock()
        handler = type("Handler", (Handler,), {"model": self})
        self.http = Listener(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def next_number(self, api):
        with self.lock:
            self.numbers[api] = self.numbers.get(api, 0) + 1
            return self.numbers[api]

    def charge(self, body, answer):
        model = body.get("model", "")
        with self.lock:
            self.bill.add(model, answer)
            if self.account_of:
                self.bills.setdefault(self.account_of(body), Bill()).add(model, answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.http.shutdown()
        self.http.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_json(200, None)

    def do_GET(self):
        self.model.requests.append(("GET", self.path))
        if self.path.split("?")[0].endswith("/models"):
            return self.send_json(200, {"object": "list", "data": [], "models": []})
        if self.headers.get("upgrade"):  # codex asks for a WebSocket first
            return self.send_json(426, {"error": {"type": "upgrade_required", "message": "no"}})
        return self.send_json(404, {"type": "error", "error": {"type": "not_found_error",
                                                               "message": "Not found"}})

    def do_POST(self):
        self.model.requests.append(("POST", self.path))
        body = self.read_body()
        path = self.path.split("?")[0]
        if path.endswith("/messages"):
            return self.answer("messages", body)
        if path.endswith("/responses"):
            return self.answer("responses", body)
        if path.endswith("/count_tokens"):
            return self.send_json(200, {"input_tokens": 1000})
        return self.send_json(404, {"type": "error", "error": {"type": "not_found_error",
                                                               "message": "Not found"}})

    def read_body(self):
        length = min(int(self.headers.get("content-length") or 0), REQUEST_BYTES_MAX)
        raw = self.rfile.read(length)
        try:
            return json.loads(raw)
        except ValueError:
            return {}

    def answer(self, api, body):
        if api == "messages" and not body.get("tools"):
            answer = Answer("A title", tokens_in=50, tokens_out=5)
        else:
            number = self.model.next_number(api)
            with self.model.lock:
                self.model.last_bodies.append(body)
            answer = self.model.script(Request(api, body, number, self.headers))
        if isinstance(answer, Hang):
            self.model.stopped.wait(HANG_SECONDS_MAX)
            self.close_connection = True
            return
        if isinstance(answer, Refusal):
            return self.refuse(api, answer)
        if isinstance(answer, Garbage):
            return self.send_raw(b"data: \xff\x00{[\n\n" * 3)
        self.model.charge(body, answer)
        name = f"msg_{time.monotonic_ns()}"
        try:
            if api == "responses":
                self.send_events(response_events(name, body, answer))
            elif body.get("stream"):
                self.send_events(message_events(name, body, answer))
            else:
                self.send_json(200, message_of(name, body, answer))
        except OSError:
            self.close_connection = True  # the agent was killed

    def refuse(self, api, refusal):
        with self.model.lock:
            self.model.bill.refused += 1
        error = {"type": refusal.kind, "message": refusal.message, **refusal.more}
        if api == "responses":
            error.setdefault("code", refusal.kind)
            body = {"error": error}
        else:
            body = {"type": "error", "error": error, "request_id": "req_1"}
        self.send_json(refusal.status, body, refusal.headers)

    def send_json(self, status, body, headers=()):
        raw = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def send_events(self, events):
        self.send_raw(b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                               for event in events))

    def send_raw(self, raw):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def message_parts(name, answer):
    parts = []
    for number, part in enumerate(answer.parts):
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        else:
            parts.append({"type": "tool_use", "id": f"toolu_{name}_{number}", "name": part[0],
                          "input": part[1]})
    return parts


def usage_of(answer):
    return {"input_tokens": answer.tokens_in, "output_tokens": answer.tokens_out,
            "cache_creation_input_tokens": answer.cache_write,
            "cache_read_input_tokens": answer.cache_read}


def message_of(name, body, answer):
    calls = any(not isinstance(part, str) for part in answer.parts)
    return {"id": name, "type": "message", "role": "assistant", "model": body.get("model"),
            "content": message_parts(name, answer), "stop_sequence": None,
            "stop_reason": "tool_use" if calls else "end_turn", "usage": usage_of(answer)}


def message_events(name, body, answer):
    message = message_of(name, body, answer)
    begun = {**message, "content": [], "stop_reason": None,
             "usage": {**message["usage"], "output_tokens": 1}}
    events = [{"type": "message_start", "message": begun}]
    for index, part in enumerate(message["content"]):
        if part["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            empty = {**part, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        events += [{"type": "content_block_start", "index": index, "content_block": empty},
                   {"type": "content_block_delta", "index": index, "delta": delta},
                   {"type": "content_block_stop", "index": index}]
    events += [{"type": "message_delta", "usage": message["usage"],
                "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}},
               {"type": "message_stop"}]
    return events


def response_events(name, body, answer):
    identity = {"id": name, "object": "response", "model": body.get("model"), "output": []}
    events = [{"type": "response.created", "response": {**identity, "status": "in_progress"}}]
    for number, part in enumerate(answer.parts):
        if isinstance(part, str):
            item = {"type": "message", "id": f"{name}_{number}", "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": part, "annotations": []}]}
        elif isinstance(part[1], str):  # a tool whose input is no JSON
            item = {"type": "custom_tool_call", "id": f"{name}_{number}", "name": part[0],
                    "call_id": f"call_{name}_{number}", "input": part[1], "status": "completed"}
        else:
            item = {"type": "function_call", "id": f"{name}_{number}", "name": part[0],
                    "call_id": f"call_{name}_{number}", "arguments": json.dumps(part[1]),
                    "status": "completed"}
        events.append({"type": "response.output_item.done", "output_index": number, "item": item})
    whole = answer.tokens_in + answer.cache_read + answer.cache_write
    usage = {"input_tokens": whole, "input_tokens_details": {"cached_tokens": answer.cache_read},
             "output_tokens": answer.tokens_out,
             "output_tokens_details": {"reasoning_tokens": 0},
             "total_tokens": whole + answer.tokens_out}
    events.append({"type": "response.completed",
                   "response": {**identity, "status": "completed", "usage": usage}})
    return events
