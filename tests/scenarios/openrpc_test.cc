// The OpenRPC document and the real binary: what is served, what is printed, what the methods
// answer, and what they refuse.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "server/rpc/methods/param_bounds.h"
#include "tests/scenarios/cli_fixture.h"
#include "tests/scenarios/conversation.h"
#include "tests/scenarios/http_client.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The conversations of transcripts/ have the other methods. Those without a result here: what they
// need isn't there.
const std::set<std::string> without_result = {"audit.checkpoint", "audit.tile",
                                              "cell.switch",      "cell.upgrade",
                                              "loop.plan_files",  "station.settle"};
constexpr const char* tour_of_methods = R"tour(
> {"method":"run.start","params":{"goal":"g","input":{"x":1},"labels":{"a":"b"},"project":"web","pipeline":{"name":"one","station":[{"name":"work","retry":{"backoff":"30m"}}]}}}
= run result.run_id
> {"method":"run.find","params":{"id":"last"}}
> {"method":"run.list","params":{"status":"queued,running","totals":"true","since":"1h","order_by":"updated"}}
> {"method":"station.claim","params":{"worker":"w"}}
= token result.claim.token
> {"method":"run.get","params":{"run_id":"$run"}}
= started result.run.started_position
> {"method":"run.fence","params":{"run_id":"$run","token":$started}}
> {"method":"server.in_flight"}
> {"method":"station.request_approval","params":{"run_id":"$run","station":"work","token":$token,"question":"May it?"}}
> {"method":"attention.list"}
> {"method":"run.resume","params":{"run_id":"$run","decision":"approve"}}
> {"method":"station.set_external_ref","params":{"run_id":"$run","station":"work","token":$token,"external_ref":"x"}}
> {"method":"station.heartbeat","params":{"run_id":"$run","station":"work","token":$token,"progress_digest":"1"}}
> {"method":"station.complete","params":{"run_id":"$run","station":"work","token":$token,"outcome":"failed","error_class":"config","error_code":"E","error_message":"m","usage":{"cost_microusd":1,"tokens":2,"turns":3},"metadata":{"a":1},"artifacts":[{"name":"a.txt","content":"hi"}]}}
> {"method":"run.artifact","params":{"run_id":"$run","name":"a.txt"}}
> {"method":"run.trace","params":{"run_id":"$run","otlp":true}}
> {"method":"run.rebuild_artifacts","params":{"run_id":"$run","check":true}}
> {"method":"strategy.list"}
> {"method":"run.retry","params":{"run_id":"$run"}}
> {"method":"station.claim","params":{"worker":"w","run_id":"$run"}}
= token result.claim.token
> {"method":"station.defer","params":{"run_id":"$run","station":"work","token":$token,"delay_ms":600000,"note":"later"}}
> {"method":"run.why","params":{"run_id":"$run"}}
> {"method":"run.cancel","params":{"run_id":"$run"}}
> {"method":"station.settle","params":{"run_id":"$run","station":"work","token":$token,"outcome":"failed"}}
! repository
> {"method":"run.start","params":{"goal":"g","repository":"$repository","pipeline":{"name":"two","station":[{"name":"intake","executor":"builtin"},{"name":"make","executor":"process","command":["sh","-c","echo out; echo x >made"]},{"name":"ask","executor":"approval"}]}}}
= made result.run_id
? {"method":"run.get","params":{"run_id":"$made"}} result.run.stations.2.status waiting
> {"method":"run.log","params":{"run_id":"$made","station":"make"}}
> {"method":"run.diff","params":{"run_id":"$made"}}
> {"method":"run.resume","params":{"run_id":"$made"}}
> {"method":"run.resume","params":{"run_id":"$made","decision":"reject"}}
> {"method":"run.get","params":{"run_id":"$made"}}
> {"method":"run.start","params":{"goal":"g","pipeline":{"name":"deep","station":[{"name":"deep","executor":"deep_work","timeout":"1m","deep_work":{"explore":{"worker":true},"plan":{"worker":true},"step":{"worker":true}}}]}}}
= deep result.run_id
? {"method":"plan.get","params":{"run_id":"$deep"}} result.waiting_for explore
> {"method":"plan.get","params":{"run_id":"$deep"}}
= token result.token
> {"method":"plan.set_exploration","params":{"run_id":"$deep","station":"deep","token":$token,"summary":"s","files":["f"],"findings":["x"]}}
> {"method":"plan.set","params":{"run_id":"$deep","station":"deep","token":$token,"steps":[{"id":"a"},{"id":"b","dependencies":["a"]}]}}
> {"method":"plan.list"}
> {"method":"step.next","params":{"worker":"w","run_id":"$deep"}}
= step result.step.token
> {"method":"plan.get","params":{"run_id":"$deep"}}
> {"method":"step.heartbeat","params":{"run_id":"$deep","step":"a","token":$step}}
> {"method":"step.fail","params":{"run_id":"$deep","step":"a","token":$step,"error_class":"config","error_code":"X","error_message":"m"}}
> {"method":"plan.get","params":{"run_id":"$deep"}}
> {"method":"step.next","params":{"worker":"w","run_id":"$deep"}}
> {"method":"plan.reset","params":{"run_id":"$deep"}}
> {"method":"run.get","params":{"run_id":"$deep","at":"$step"}}
> {"method":"project.put","params":{"name":"web","repository":"$repository"}}
> {"method":"project.check","params":{"name":"web"}}
> {"method":"project.list"}
> {"method":"card.submit","params":{"project":"web","title":"t","brief":"b","immediate":false}}
= card result.card_id
> {"method":"card.find","params":{"id":"last"}}
> {"method":"card.why","params":{"card_id":"$card"}}
> {"method":"board.get"}
> {"method":"card.set_priority","params":{"card_id":"$card","priority":5}}
> {"method":"card.block","params":{"card_id":"$card","reason":"no"}}
> {"method":"card.get","params":{"card_id":"$card"}}
> {"method":"card.list"}
> {"method":"server.pause","params":{"reason":"r"}}
> {"method":"station.claim","params":{"worker":"w"}}
> {"method":"loop.list"}
> {"method":"loop.trigger","params":{"loop":"heartbeat"}}
> {"method":"loop.list","params":{"at":9}}
> {"method":"server.status"}
> {"method":"board.get","params":{"project":"web"}}
> {"method":"server.resume"}
> {"method":"tick.begin","params":{"loop":"l"}}
> {"method":"tick.list"}
> {"method":"access.issue","params":{"name":"n","role":"worker","expires_in_ms":100000}}
= secret result.secret
> {"method":"access.issue","params":{"name":"m","role":"viewer"}}
= id result.id
> {"method":"access.revoke","params":{"id":"$id","reason":"r"}}
> {"method":"access.list"}
> {"method":"runner.register","params":{"name":"tour"}}
= runner result.runner
= key result.key
> {"method":"runner.exchange","params":{"runner":"$runner","key":"$key","start":1,"number":1,"instance":"i","labels":["tour"],"slots":1,"lease_ms":60000}}
> {"method":"run.start","params":{"goal":"far","pipeline":{"name":"far","runs_on":["tour"],"station":[{"name":"a","executor":"process","command":["true"]}]}}}
> {"method":"runner.exchange","params":{"runner":"$runner","key":"$key","start":1,"number":2,"instance":"i","labels":["tour"],"slots":1,"lease_ms":60000,"wait_ms":5000}}
= job result.orders.0.job.id
> {"method":"runner.exchange","params":{"runner":"$runner","key":"$key","start":1,"number":3,"instance":"i","labels":["tour"],"slots":1,"lease_ms":60000,"jobs":[{"job_id":"$job","external_ref":"7"}]}}
> {"method":"runner.output","params":{"runner":"$runner","key":"$key","job_id":"$job","stream":"stdout","offset":0,"content":"aGk=","is_newest":true}}
> {"method":"runner.upload","params":{"runner":"$runner","key":"$key","sha256":"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4","bytes":2,"offset":0,"content":"aGk="}}
> {"method":"runner.finish","params":{"runner":"$runner","key":"$key","job_id":"none","result":{"outcome":"succeeded","failure":{"outcome":"failed","error_class":"terminal","code":"","message":""},"result":{"summary":"","logs_inline":"","external_ref":"","metadata":"","artifacts":[]},"usage":{"cost_microusd":0,"tokens":0,"turns":0},"checks_changed":""}}}
> {"method":"runner.runs","params":{"runner":"$runner","key":"$key"}}
> {"method":"runner.removed","params":{"runner":"$runner","key":"$key","run_id":"00000000-0000-0000-0000-000000000000","path":"/w","removed":true,"rescued":false}}
> {"method":"runner.list"}
> {"method":"runner.get","params":{"runner":"$runner"}}
> {"method":"runner.drain","params":{"runner":"$runner"}}
= drained result.position
> {"method":"runner.list","params":{"at":"$drained"}}
> {"method":"runner.get","params":{"runner":"$runner","at":"$drained"}}
> {"method":"runner.evict","params":{"runner":"$runner"}}
> {"method":"cell.get"}
> {"method":"audit.adopt_key","params":{"verifier_key":"example.com/log+ff8ba2d4+AX8jsK1OVzRVLFGxt3A+cqGqfd7xk600HRTx2Hqwpb8W"}}
> {"method":"audit.checkpoint"}
> {"method":"audit.tile","params":{"path":"0/000.p/1"}}
> {"method":"loop.plan_files"}
> {"method":"log.redact","params":{"position":$started,"reason":"r"}}
> {"method":"audit.records","params":{"from":$started,"limit":1000}}
> {"method":"server.status","params":{"at":"1h"}}
> {"method":"server.whoami"}
> {"method":"server.limits"}
> {"method":"server.metrics"}
> {"method":"server.crash_report"}
> {"method":"report.get"}
> {"method":"what_if.run","params":{"policy":""}}
> {"method":"events.types"}
> {"method":"events.histogram","params":{"by":"noun"}}
> {"method":"state.get","params":{"stream":"run/$deep"}}
> {"method":"state.get","params":{"stream":"card/$card","at":"1h"}}
> {"method":"state.diff","params":{"stream":"run/$deep","from":1}}
> {"method":"log.marks","params":{"kinds":"start,stop","from":1}}
> {"method":"timeline.get","params":{"from":1,"group":"worker"}}
> {"method":"timeline.get","params":{"from":1,"group":"lock"}}
> {"method":"events.read","params":{"limit":1000}}
> {"method":"events.read","params":{"limit":1,"from":1,"types":["RunStarted"],"backwards":true}}
> {"method":"server.authenticate","params":{"secret":"$secret"}}
> {"method":"log.redact","params":{"position":1,"reason":"r"}}
> {"method":"events.subscribe"}
)tour";

// Adds the methods of a conversation's requests that are answered with a result.
void add_answered(const std::string& text, std::set<std::string>& answered) {
  std::vector<std::string> asked;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    static const std::regex method(R"re(> \{"method":"([a-z_.]+)".*)re");
    std::smatch found;
    if (std::regex_match(line, found, method)) asked.push_back(found[1]);
  }
  std::size_t next = 0;
  play_transcript(text, [&](const Conversation&, const json::value& answer) {
    const std::string& name = asked.at(next++);
    const json::value* const result = answer.as_object().if_contains("result");
    if (result == nullptr) return true;
    answered.insert(name);
    if (name != "events.read") return true;
    for (const json::value& event : result->at("events").as_array()) {
      for (const std::string& complaint : openrpc::undescribed_event(event.as_object())) {
        ADD_FAILURE() << "x-events: " << complaint;
      }
    }
    return true;
  });
}

// Conversation::ask() expects that each answer is as described. Here it is held that each method
// was asked with success.
TEST(Openrpc, DescribesTheAnswersOfEachMethod) {  // M4
  std::set<std::string> answered;
  add_answered(tour_of_methods, answered);
  for (const std::string& name : transcript_names()) {
    const std::string written = content_of(transcripts / (name + ".txt"));
    static const std::regex pair(R"re(> \{"method":"([a-z_.]+)"[^\n]*\n< \{"result")re");
    for (std::sregex_iterator each(written.begin(), written.end(), pair), end; each != end;
         ++each) {
      answered.insert((*each)[1]);
    }
  }
  for (const json::value& method : openrpc::document().at("methods").as_array()) {
    const std::string name(method.at("name").as_string());
    EXPECT_EQ(answered.contains(name), !without_result.contains(name)) << name;
  }
}

TEST(Openrpc, ADifferenceIsNoticed) {
  const auto complaints = [](const std::string& method, const char* answer) {
    return openrpc::undescribed(method, json::parse(answer).as_object()).size();
  };
  EXPECT_EQ(complaints("run.find", R"({"result":{"run_id":"x","position":1}})"), 0U);
  EXPECT_EQ(complaints("run.find", R"({"result":{"run_id":"x","position":1,"more":1}})"), 1U);
  EXPECT_EQ(complaints("run.find", R"({"result":{"run_id":7,"position":1}})"), 1U);
  EXPECT_EQ(complaints("run.find", R"({"result":{"position":1}})"), 1U);
  EXPECT_EQ(complaints("run.find", R"({"error":{"data":{"code":"RUN_NOT_FOUND"}}})"), 0U);
  EXPECT_EQ(complaints("run.find", R"({"error":{"data":{"code":"CARD_BUSY"}}})"), 1U);
  EXPECT_EQ(complaints("lock.get", R"({"result":{"key":"k","lock":{},"last":null,"waiting":0,)"
                                   R"("position":1}})") > 5,
            true);
}

class OpenrpcParams : public CliTest {
 protected:
  // Calls a method, and returns the error's data with its message; empty if there is none.
  json::object refusal(const std::string& method, const json::object& params) {
    const json::object request{
        {"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
    const HttpReply reply = client_->post("/rpc", json::serialize(request));
    const json::object answer = reply.json();
    const json::value* const error = answer.if_contains("error");
    return error == nullptr ? json::object() : error->at("data").as_object();
  }
  static std::string field_of(const json::object& refusal) {
    if (!refusal.contains("details")) return {};
    const json::value* const field = refusal.at("details").as_object().if_contains("field");
    return field == nullptr ? std::string() : std::string(field->as_string());
  }
  static std::string name_of_code(const json::object& refusal) {
    return refusal.contains("code") ? std::string(refusal.at("code").as_string()) : "";
  }

  // Returns a value that a schema allows.
  json::value sample(const std::string& name, const json::object& schema) const {
    if (name == "run_id") return json::value(run_id_);
    if (const json::value* const values = schema.if_contains("enum")) return values->at(0);
    if (const json::value* const format = schema.if_contains("format"); format != nullptr) {
      return "00000000-0000-0000-0000-000000000001";
    }
    const json::value& type = schema.at("type");
    if (type == "object") {
      json::object fields;
      for (const json::value& each : schema.at("required").as_array()) {
        const std::string field(each.as_string());
        fields[field] = sample(field, schema.at("properties").at(field).as_object());
      }
      return fields;
    }
    if (type != "string") return 1;
    return name == "repository" ? "/nowhere" : "x";
  }
  // Returns the required params of a method.
  json::object required_params(const json::object& method) const {
    json::object params;
    for (const json::value& each : method.at("params").as_array()) {
      if (!each.as_object().contains("required")) continue;
      const std::string name(each.at("name").as_string());
      params[name] = sample(name, each.at("schema").as_object());
    }
    return params;
  }
  void SetUp() override {
    CliTest::SetUp();
    run_id_ = start_run("g");
    client_ = std::make_unique<HttpClient>(server_.socket());
  }

  std::string run_id_;
  std::unique_ptr<HttpClient> client_;
};

bool says_more_later(const std::string& method) {
  for (const char* each : {"exchange", "upload", "output", "finish", "runs", "removed"}) {
    if (method == std::string("runner.") + each) return true;
  }
  return false;
}

TEST_F(OpenrpcParams, EachMethodTakesThoseDescribedAndNoOther) {  // P7
  for (const json::value& each : openrpc::document().at("methods").as_array()) {
    const json::object& method = each.as_object();
    const std::string name(method.at("name").as_string());
    if (name == "events.subscribe") continue;  // not over HTTP
    const json::object required = required_params(method);
    json::object more = required;
    more["no_such_param"] = 1;
    const json::object unknown = refusal(name, more);
    // What a runner of a later version says isn't known here. Its key is none.
    EXPECT_EQ(name_of_code(unknown), says_more_later(name) ? "FORBIDDEN" : "INVALID_PARAMS")
        << name << json::serialize(unknown);
    if (!says_more_later(name)) {
      EXPECT_EQ(field_of(unknown), "no_such_param") << name << json::serialize(unknown);
    }
    for (const auto& param : required) {
      json::object fewer = required;
      fewer.erase(param.key());
      EXPECT_EQ(field_of(refusal(name, fewer)), param.key()) << name;
    }
    for (const json::value& described : method.at("params").as_array()) {
      const std::string param(described.at("name").as_string());
      const json::value* const type = described.at("schema").as_object().if_contains("type");
      if (name == "run.start" && param == "input") continue;  // any value
      const bool takes_object = (type != nullptr && *type == "object") ||
                                described.at("schema").as_object().contains("$ref");
      json::object wrong = required;
      wrong[param] = takes_object ? json::value(7) : json::value(json::object{{"no", 1}});
      const json::object refused = refusal(name, wrong);
      const std::string code = name_of_code(refused);
      EXPECT_TRUE(code == "INVALID_PARAMS" || code == "PIPELINE_INVALID")
          << name << " " << param << json::serialize(refused);
      EXPECT_EQ(field_of(refused), param) << name << json::serialize(refused);
    }
  }
}

// Returns a value of this size: a number, or a text or a list of so many bytes or entries.
json::value value_of_size(const BoundedParam& bounded, const json::value& type, std::int64_t size) {
  if (type == "integer") return size;
  if (type == "array") {
    json::array list;
    for (std::int64_t index = 0; index < size; ++index) {
      list.push_back({{"name", std::to_string(index)}, {"content", ""}});
    }
    return list;
  }
  if (type == "object") {
    json::object object;
    for (std::int64_t index = 0; index < size; ++index) object["l" + std::to_string(index)] = "v";
    return object;
  }
  const bool is_path = bounded.param == "run_root" || bounded.param == "repository";
  std::string text(static_cast<std::size_t>(size), 'x');
  if (is_path && !text.empty()) text.front() = '/';
  return json::value(text);
}

TEST_F(OpenrpcParams, WhatLiesOutsideOfABoundIsRefused) {  // P7 P8
  const std::string failed = start_run("fails");
  const json::object claimed =
      rpc("station.claim", {{"worker", "w"}, {"run_id", failed}}).at("claim").as_object();
  const json::object ended = rpc("station.complete", {{"run_id", failed},
                                                      {"station", claimed.at("station")},
                                                      {"token", claimed.at("token")},
                                                      {"outcome", "failed"},
                                                      {"error_class", "config"}});
  ASSERT_EQ(text(ended, "run_status"), "failed");
  for (const BoundedParam& bounded : bounded_params()) {
    const std::string name(bounded.method);
    const json::object& method = *openrpc::find_method(name);
    json::value type;
    for (const json::value& each : method.at("params").as_array()) {
      if (each.at("name").as_string() == bounded.param) type = each.at("schema").at("type");
    }
    for (const std::int64_t size : {bounded.min - 1, bounded.max + 1}) {
      if (size < 0 && type != "integer") continue;
      json::object params = required_params(method);
      if (name == "loop.trigger") params["loop"] = "heartbeat";
      if (name == "run.retry") params["run_id"] = failed;
      params[bounded.param] = value_of_size(bounded, type, size);
      const json::object refused = refusal(name, params);
      const std::string code = name_of_code(refused);
      const std::string about = name + " " + std::string(bounded.param) + " " +
                                std::to_string(size) + " " + json::serialize(refused);
      EXPECT_TRUE(code == "INVALID_PARAMS" || code == "LIMIT_EXCEEDED") << about;
      if (type == "integer" || type == "string") {
        EXPECT_EQ(field_of(refused), bounded.param) << about;
      }
    }
  }
}

TEST_F(OpenrpcParams, TheServerServesWhatTheProgramPrints) {
  const HttpReply served = client_->get("/openrpc.json");
  ASSERT_EQ(served.status, 200U);
  EXPECT_EQ(served.header("Content-Type"), "application/json");
  EXPECT_EQ(served.json(), openrpc::document());
  EXPECT_EQ(client_->get("/openrpc.json").body(), served.body());
  EXPECT_EQ(server_.stop(), 0);
  const Output printed = server_.cli({"rpc", "--describe"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_EQ(json::parse(printed.out), json::value(openrpc::document()));
  EXPECT_EQ(server_.cli({"rpc"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"rpc", "run.list", "--describe"}).exit_code, 2);
}

}  // namespace
}  // namespace signalbox
