// The implementations of SharedLog that its conformance suites run over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "store/memory_shared_log.h"
#include "tests/store/postgres_cell.h"
#include "tests/store/shared_log_conformance.h"

namespace signalbox::test {

// A cell of its own in a shared log.
struct SharedLogUnderTest {
  virtual ~SharedLogUnderTest() = default;
  // Opens a connection with this deadline.
  virtual std::unique_ptr<SharedLog> open(std::chrono::milliseconds deadline) = 0;
  // Has writes wait without end from now on, or no longer.
  virtual void set_stuck(bool stuck) = 0;
  // Returns whether the log has what a write sent that ended as unknown while it was stuck.
  virtual bool has_stuck_write() = 0;
  // Removes the last links, acknowledged or not, so that the log ends with `link`: as if a backup
  // of then had been restored.
  virtual void lose_links_after(const ChainLink& link) = 0;
};

struct SharedLogKind {
  const char* name;
  std::function<std::unique_ptr<SharedLogUnderTest>()> make;
};

// Shows a kind by its name, where googletest would show bytes.
inline void PrintTo(const SharedLogKind& kind, std::ostream* out) { *out << kind.name; }

struct MemorySharedLogUnderTest final : SharedLogUnderTest {
  std::shared_ptr<MemoryChain> chain = std::make_shared<MemoryChain>();

  std::unique_ptr<SharedLog> open(std::chrono::milliseconds deadline) override {
    return std::make_unique<MemorySharedLog>(chain, deadline);
  }
  void set_stuck(bool stuck) override { chain->set_stuck(stuck); }
  bool has_stuck_write() override { return true; }  // before its call ends
  void lose_links_after(const ChainLink& link) override { chain->lose_links_after(link.last); }
};

// A cell in the database that all tests of this process share.
struct PostgresLogUnderTest final : SharedLogUnderTest {
  PostgresNodes& nodes = shared_postgres_nodes();
  PostgresLog::Options options = new_postgres_cell(nodes);

  std::unique_ptr<SharedLog> open(std::chrono::milliseconds deadline) override {
    options.deadline = deadline;
    return std::make_unique<PostgresLog>(options);
  }
  void set_stuck(bool stuck) override {
    if (stuck) {
      nodes.freeze_standbys();
    } else {
      nodes.thaw_standbys();
    }
  }
  bool has_stuck_write() override {
    return nodes.query(std::string("SELECT count(*) ") + waiting_sessions) != "0";
  }
  void lose_links_after(const ChainLink& link) override {
    nodes.query("DELETE FROM sb_entry e USING sb_cell c WHERE e.cell = c.cell AND c.name = '" +
                options.cell + "' AND e.prev >= " + std::to_string(link.last));
  }
};

inline SharedLogKind memory_kind() {
  return {"Cell", [] { return std::make_unique<MemorySharedLogUnderTest>(); }};
}
inline SharedLogKind postgres_kind() {
  return {"Cell", [] { return std::make_unique<PostgresLogUnderTest>(); }};
}

class SharedLogConformance : public testing::TestWithParam<SharedLogKind> {
 protected:
  std::unique_ptr<SharedLog> open(std::chrono::milliseconds deadline = patient_deadline) {
    return cell_->open(deadline);
  }
  // Opens a connection that has made the cell and taken it.
  std::unique_ptr<SharedLog> open_writer() {
    auto log = open();
    EXPECT_TRUE(log->create(first_link(), "secret"));
    const auto epoch = log->take(0, {"one", "tls://one:1"});
    EXPECT_TRUE(epoch) << epoch.error().message;
    return log;
  }
  void set_stuck(bool stuck) { cell_->set_stuck(stuck); }
  bool has_stuck_write() { return cell_->has_stuck_write(); }
  void lose_links_after(const ChainLink& link) { cell_->lose_links_after(link); }

 private:
  std::unique_ptr<SharedLogUnderTest> cell_ = GetParam().make();
};

}  // namespace signalbox::test
