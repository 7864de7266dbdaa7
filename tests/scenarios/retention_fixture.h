// Fixture for `audit retain` on a real log, with ended and open runs and archives.
#pragma once

#include "tests/scenarios/audit_fixture.h"

namespace signalbox {

class RetentionTest : public AuditTest {
 protected:
  // Retention takes only a key that the log has adopted.
  void SetUp() override {
    AuditTest::SetUp();
    result({"audit", "adopt", verifier_key_});
  }

  void end_run(const std::string& run_id) const {
    for (const char* station : {"plan", "implement"}) {
      EXPECT_EQ(complete(run_id, station, claim(run_id), "succeeded").exit_code, 0);
    }
  }
  std::string ended_run(const std::string& goal) const {
    const std::string run_id = start_run(goal);
    end_run(run_id);
    return run_id;
  }

  [[nodiscard]] Output retain(std::vector<std::string> more = {},
                              const std::string& older_than = "0s") const {
    std::vector<std::string> words{"audit",         "retain",        "--older-than",
                                   older_than,      "--archive",     at("archive"),
                                   "--signing-key", at("audit.key"), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return server_.cli(std::move(words));
  }
  // Runs a retention that has to succeed. Returns its result.
  boost::json::object retained(std::vector<std::string> more = {}) const {
    const Output output = retain(std::move(more));
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    return one_object(output).at("result").as_object();
  }

  [[nodiscard]] boost::json::object replayed(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"replay"};
    words.insert(words.end(), more.begin(), more.end());
    return result(std::move(words));
  }

  static std::int64_t number(const boost::json::object& object, const char* key) {
    return object.at(key).to_number<std::int64_t>();
  }
};

}  // namespace signalbox
