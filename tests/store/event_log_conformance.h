// The conformance suite of EventLog, which every implementation passes: what its tests share.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "domain/try.h"
#include "store/memory_event_log.h"
#include "store/replicated_event_log.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {

// A log and its storage.
struct LogUnderTest {
  virtual ~LogUnderTest() = default;
  virtual EventLog& log() = 0;
};

struct MemoryLogUnderTest final : LogUnderTest {
  MemoryEventLog memory;
  EventLog& log() override { return memory; }
};

struct RocksLogUnderTest final : LogUnderTest {
  TemporaryDirectory directory;
  std::unique_ptr<RocksEventLog> rocks;

  RocksLogUnderTest() {
    auto opened = RocksEventLog::open(directory.path(), {});
    if (!opened) throw std::runtime_error(opened.error().message);
    rocks = std::move(*opened);
  }
  EventLog& log() override { return *rocks; }
};

// A replica of a shared log, of which it is the writer.
struct ReplicatedLogUnderTest final : LogUnderTest {
  RocksLogUnderTest replica;
  std::unique_ptr<ReplicatedEventLog> replicated;

  explicit ReplicatedLogUnderTest(std::unique_ptr<SharedLog> shared) {
    SharedLog& connection = *shared;
    replicated = std::make_unique<ReplicatedEventLog>(*replica.rocks, std::move(shared),
                                                      [](const std::string&) {});
    const auto begun = [&]() -> Stored<void> {
      TRY(connection.create(first_link(*replica.rocks), "secret"));
      const std::uint64_t epoch = TRY(connection.take(0, {"a", "tcp://127.0.0.1:1"}));
      const ChainLink last = TRY(connection.last());
      replicated->begin_epoch(epoch, last);
      return {};
    };
    if (const auto made = begun(); !made) throw std::runtime_error(made.error().message);
  }
  EventLog& log() override { return *replicated; }
};

struct LogKind {
  const char* name;
  std::function<std::unique_ptr<LogUnderTest>()> make;
};

// Shows a kind by its name, where googletest would show bytes.
inline void PrintTo(const LogKind& kind, std::ostream* out) { *out << kind.name; }

class EventLogConformance : public testing::TestWithParam<LogKind> {
 protected:
  EventLog& log() { return fixture_->log(); }

  // Appends commits of these sizes, in one batch.
  AppendResult append(const std::vector<std::size_t>& sizes) {
    std::vector<Commit> commits;
    const Position tail = log().tail();
    Position first = tail + 1;
    for (const std::size_t size : sizes) {
      commits.push_back(sample_commit(first, size));
      first += size;
    }
    return log().append(tail, commits);
  }

  std::vector<Record> expected(Position from, Position to) {
    return from > to ? Commit{} : sample_commit(from, to - from + 1);
  }

 private:
  std::unique_ptr<LogUnderTest> fixture_ = GetParam().make();
};

// Those that also drop and redact records.
class RedactableLogConformance : public EventLogConformance {
 protected:
  RedactableLog& log() { return dynamic_cast<RedactableLog&>(EventLogConformance::log()); }
};

}  // namespace signalbox::test
