// Tests `audit.adopt_key` over the dispatcher: which keys are accepted, and what the log records.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "store/signed_note.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RpcAudit : public ::testing::Test, protected RpcSite {
 protected:
  boost::json::object adopt(const std::string& verifier_key) {
    return ask("audit.adopt_key",
               boost::json::serialize(boost::json::object{{"verifier_key", verifier_key}}));
  }
};

TEST_F(RpcAudit, AKeyIsAdoptedOnceAndNamesTheOneBefore) {
  const std::string first = NoteSigner::generate("example.com/box").verifier().text();
  const std::string second = NoteSigner::generate("example.com/box").verifier().text();
  const auto adopted = adopt(first).at("result").as_object();
  EXPECT_TRUE(adopted.at("adopted").as_bool());
  EXPECT_EQ(adopted.at("name").as_string(), "example.com/box");
  EXPECT_EQ(adopted.at("previous").as_string(), "");
  EXPECT_FALSE(adopt(first).at("result").as_object().at("adopted").as_bool());
  const auto rotated = adopt(second).at("result").as_object();
  EXPECT_EQ(rotated.at("verifier_key").as_string(), second);
  EXPECT_EQ(rotated.at("previous").as_string(), first);
}

TEST_F(RpcAudit, OnlyTheWholeVerifierKeyIsOne) {
  const NoteSigner signer = NoteSigner::generate("example.com/box");
  std::string other_name = signer.verifier().text();
  other_name.front() = 'f';
  for (const std::string& wrong :
       {std::string("box"), signer.private_text(), other_name, signer.verifier().text() + " "}) {
    EXPECT_EQ(code_of(adopt(wrong)), "INVALID_PARAMS") << wrong;
  }
}

}  // namespace
}  // namespace signalbox
