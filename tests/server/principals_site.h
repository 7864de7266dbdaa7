// Fixture for what a principal may do: the service without sockets, asked by somebody in
// particular, with runs whose jobs are under way.
#pragma once

#include <string>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {

class PrincipalsSite : public ::testing::Test, protected RpcSite {
 protected:
  boost::json::object ask_as(const Principal& principal, const std::string& method,
                             const std::string& params = "{}") {
    dispatcher.handle(request(method, params), principal, peer);
    settle();
    return peer->next();
  }
  // Starts a run with a job under way, which is allowed what the array names. Returns its id.
  // Earlier versions recorded no machine.
  std::string start_job(const std::string& allow = R"(["locks","ticks"])",
                        const std::string& machine = "here") {
    const std::string id = start_run(
        R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"process","command":["true"],"allow":)" +
        allow + "}]}}");
    take(DispatchStation{*parse_uuid(id), ids.next_span_id(), {}, machine});
    return id;
  }
  [[nodiscard]] std::string job_id_of(const std::string& run_id) const {
    return engine.world().find_run(*parse_uuid(run_id))->attempt->job_id;
  }
  std::string ask_result(const std::string& method, const std::string& params) {
    const auto answer = ask(method, params);
    EXPECT_EQ(code_of(answer), "") << boost::json::serialize(answer);
    return boost::json::serialize(answer.at("result").at("token"));
  }
};

}  // namespace signalbox
