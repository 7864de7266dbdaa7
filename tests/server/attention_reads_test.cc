// What `attention.list` reads of the log: it is asked often, and a run may have many records.
#include <gtest/gtest.h>

#include "projections/run_history.h"
#include "server/rpc/methods/attention_views.h"
#include "server/rpc/page_limit.h"
#include "tests/fixtures/wrapped_log.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class AttentionReads : public ::testing::Test, protected RpcSite {
 protected:
  // Returns how often the log is read for a page that looks into so many approvals.
  std::size_t scans_of_page(std::size_t proposals_max) {
    AttentionQuestion question;
    question.kinds = {AttentionKind::approval};
    question.limit = attention_list_rows_max;
    question.proposals_max = proposals_max;
    reads.scans = 0;
    const AttentionMoment moment = attention_moment(counted, {{}, loops}, question);
    const auto page = attention_page(counted, &index, moment, question);
    EXPECT_EQ(page.at("items").as_array().size(), asking);
    return reads.scans;
  }

  std::string start_asking() {
    ++asking;
    return start_run(R"({"goal":"ship it","pipeline":{"name":"a","station":[{"name":"ask",)"
                     R"("executor":"approval"}]}})");
  }

  std::size_t asking = 0;  // runs
  test::ScanCountingLog reads{log};
  Api counted = api_of(reads);
};

TEST_F(AttentionReads, TheRunOfAnApprovalIsReadOnce) {  // O1
  const std::string run = start_asking();
  ASSERT_TRUE(read_history(reads, index, *parse_uuid(run)).value().has_value());
  const std::size_t once = reads.scans;
  ASSERT_GT(once, 0U);
  EXPECT_EQ(scans_of_page(1) - scans_of_page(0), once);
}

TEST_F(AttentionReads, TheRunsOfTheFirstApprovalsAreRead) {  // O1, P8
  while (asking < attention_proposals_max) start_asking();
  const std::size_t none = scans_of_page(0);
  const std::size_t one = scans_of_page(1) - none;
  EXPECT_EQ(scans_of_page(attention_proposals_max) - none, attention_proposals_max * one);
  start_asking();
  const std::size_t none_of_more = scans_of_page(0);
  EXPECT_EQ(scans_of_page(attention_proposals_max) - none_of_more, attention_proposals_max * one);
}

}  // namespace
}  // namespace signalbox
