// A replica whose disk fails when it is synced, closed or rid of a redacted text: no space or an
// I/O error (BEHAVIOURS, chapter K).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/anchor.h"
#include "tests/eventually.h"
#include "tests/store/cell_replica.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {
namespace {

class ReplicaDiskFailure : public testing::Test {
 protected:
  ReplicaDiskFailure() {
    EXPECT_TRUE(first_.reader.create(first_link(*first_.replica), "secret"));
    first_.take();
    first_.append();
    second_.follow();  // the first append is synced, and noted in the anchor
    first_.append();
    second_.follow();
    EXPECT_LT(second_.replica->synced(), second_.replica->tail());
  }

  [[nodiscard]] Position anchored() const {
    return read_anchor(second_.directory.path() / "anchor").value()->position;
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  CellReplica first_{chain_};
  CellReplica second_{chain_};
};

TEST_F(ReplicaDiskFailure, WithoutSpaceForTheLastSyncTheLogIsClosed) {  // K11
  second_.disk.fault = WriteFault::sync_fails;
  const auto closed = second_.replica->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, StoreError::Kind::full);
  EXPECT_EQ(anchored(), second_.replica->synced());
  second_.disk.fault = WriteFault::none;
  second_.restart();
  second_.follow();
  EXPECT_EQ(second_.log->frontier(), first_.log->frontier());
}

}  // namespace
}  // namespace signalbox::test
