// Fixture: two servers of a cell whose writer has a record that was kept when others were dropped,
// and redacts it. For these tests, a base is a text with that of the record.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "domain/free_text.h"
#include "store/chain_erasure.h"
#include "store/merkle_tree.h"
#include "store/sha256.h"
#include "tests/store/cell_replica.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {

inline std::string reason_of_cancel(const Event& event) {
  return event_as<RunCanceled>(event)->reason;
}

inline std::string text_with_replaced(std::string text, const std::string& from,
                                      const std::string& to) {
  if (const auto place = text.find(from); place != std::string::npos) {
    text.replace(place, from.size(), to);
  }
  return text;
}

// As far as these tests are concerned, a base is a text with that of the record.
inline Stored<std::string> redact_kept_base(const EventLog& log, const Record& record,
                                            const Event& replacement) {
  return log.base().map([&](const std::string& base) {
    return text_with_replaced(base, reason_of_cancel(record.event), reason_of_cancel(replacement));
  });
}

inline const std::string kept_base_text = std::string("a base with ") + secret_text;
inline const std::string kept_base_without_text =
    std::string("a base with ") + std::string(blanked_text);

// A server of the cell that knows what a base is.
struct BaseReplica : CellReplica {
  explicit BaseReplica(std::shared_ptr<MemoryChain> shared) : CellReplica(std::move(shared)) {
    log->set_redact_base(redact_kept_base);
  }
  void restart() {
    CellReplica::restart();
    log->set_redact_base(redact_kept_base);
  }
  // Makes the drop of the event at `dropped_at`, which is due, with this base.
  [[nodiscard]] Stored<void> make_due(const HistoryDrop& drop, Position dropped_at,
                                      const std::string& base) const {
    return with_base(*log, stage_due(drop, dropped_at, base))
        .and_then([this](const StagedDrop& staged) { return log->commit_due_drop(staged); });
  }
  [[nodiscard]] Stored<StagedDrop> stage_due(const HistoryDrop& drop, Position dropped_at,
                                             const std::string& base) const {
    const Position redacted_at = log->pending_redactions().latest;
    return log->stage_due_drop({drop.position, drop.kept, base}, dropped_at, redacted_at, nullptr);
  }
};

class ReplicatedBase : public testing::Test {
 protected:
  ReplicatedBase() {
    EXPECT_TRUE(first_.reader.create(first_link(*first_.replica), "secret"));
    first_.take();
    append_secret(*first_.log);
    first_.append();
    tree_ = first_.log->frontier();
    first_.append();
  }

  // Has the writer drop the records of `tree` but for the commit with the secret.
  HistoryDrop drop(const MerkleFrontier& tree, const std::string& base = kept_base_text) {
    const PreparedDrop prepared = prepare_drop(*first_.log, tree, {{1, 3}}, base);
    const auto staged =
        CellReplica::with_base(*first_.log, first_.log->stage_drop(prepared.drop, nullptr));
    EXPECT_TRUE(staged) << staged.error().message;
    const auto result = first_.log->commit_drop(first_.log->tail(), prepared.commit, *staged);
    EXPECT_TRUE(result && result->status == AppendStatus::ok);
    return prepared.drop;
  }
  // Makes it at another server.
  static void make(const BaseReplica& server, const HistoryDrop& drop) {
    const auto made = server.make_due(drop, server.log->due_drops().front(), drop.base);
    ASSERT_TRUE(made) << made.error().message;
  }
  // Has the writer redact the secret, so that `reason` is in its place. Returns the position of the
  // PayloadRedacted, which has that of the HistoryDropped before it if the base is renewed.
  Position redact(const std::string& reason = std::string(blanked_text), bool renews = true) {
    ReplicatedEventLog& log = *first_.log;
    const Event replacement = RunEvent(RunCanceled{reason});
    Salt salt{};
    salt[0] = static_cast<std::byte>(log.tail());
    auto staged = log.stage_redaction(secret_position, replacement, salt);
    EXPECT_TRUE(staged) << staged.error().message;
    Commit commit;
    if (renews) {
      const Horizon horizon = log.horizon();
      const Record record = log.read(secret_position, 1)->front();
      const std::string base = redact_kept_base(log, record, replacement).value();
      HistoryDropped renewal =
          *event_as<HistoryDropped>(log.read_commit(horizon.dropped_at)->front().event);
      renewal.base = sha256(base);
      commit.push_back(sample_record(log.tail() + 1, ServerEvent(renewal)));
      staged->base = CellReplica::with_base(
                         log, log.stage_drop({horizon.position, horizon.kept, base}, nullptr))
                         .value();
    }
    commit.push_back(redaction_of_secret(log.tail() + commit.size(), secret_position).note);
    set_digests(commit.back(), staged->redacted);
    const auto result = log.commit_redaction(log.tail(), commit, *staged);
    EXPECT_TRUE(result && result->status == AppendStatus::ok);
    return commit.back().position;
  }
  void erase_from_chain(Position redacted_at) {
    MemorySharedLog shared(chain_);
    const auto erased =
        signalbox::erase_from_chain(shared, *first_.replica, shared.state()->epoch, redacted_at);
    ASSERT_TRUE(erased) << erased.error().message;
  }
  static void erase_files(const CellReplica& server) {
    const auto erasure = server.log->plan_erasure();
    ASSERT_TRUE(erasure) << erasure.error().message;
    ASSERT_TRUE(server.log->begin_erasure());
    const auto purged = server.log->purge_replaced(*erasure, nullptr);
    ASSERT_TRUE(purged) << purged.error().message;
    ASSERT_TRUE(server.log->note_erased(*erasure));
  }
  // Expects the record and the base without the secret, as the event at `renewed_at` says.
  static void expect_renewed(const RocksEventLog& log, Position renewed_at) {
    EXPECT_EQ(log.base().value(), kept_base_without_text);
    EXPECT_EQ(log.horizon().dropped_at, renewed_at);
    EXPECT_EQ(reason_of_cancel(log.read(secret_position, 1)->front().event), blanked_text);
    EXPECT_TRUE(log.due_drops().empty());
    EXPECT_TRUE(log.pending_redactions().awaited.empty());
    const auto verified = log.verify(log.tail());
    EXPECT_TRUE(verified) << verified.error().message;
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  BaseReplica first_{chain_};
  BaseReplica second_{chain_};
  MerkleFrontier tree_;
};

}  // namespace signalbox::test
