#include "tests/projections/golden_base.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "store/frame.h"
#include "store/merkle_tree.h"
#include "tests/store/decoded_record.h"
#include "tests/store/hexadecimal.h"

namespace signalbox::test {
namespace {

std::vector<Record> decode_records(std::string_view bytes) {
  std::vector<Record> records;
  while (!bytes.empty()) {
    std::size_t consumed = 0;
    auto record = decode_record(bytes, consumed);
    if (!record) throw std::runtime_error(record.error().message);
    records.push_back(std::move(*record));
    bytes.remove_prefix(consumed);
  }
  return records;
}

void append(EventLog& log, const Record& record) {
  const Commit commit{record};
  ASSERT_EQ(log.append(log.tail(), {&commit, 1}).status, AppendStatus::ok);
}

// Returns the plan that drops the oldest three quarters: some runs have ended there, some are open.
RetentionPlan plan_of(const EventLog& log, const std::vector<Record>& records) {
  MemoryTable scratch;
  auto plan = plan_retention(log, records[records.size() * 3 / 4].recorded_at_ns, scratch);
  if (!plan) throw std::runtime_error(plan.error().message);
  return std::move(*plan);
}

}  // namespace

std::string encode_records(const std::vector<Record>& records) {
  std::string bytes;
  for (const Record& record : records) encode_record(record, Salt{}, bytes);
  return bytes;
}

std::vector<GoldenBase> read_bases() {
  std::vector<GoldenBase> bases;
  std::ifstream file(golden_bases_file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    GoldenBase golden;
    std::string records;
    std::string base;
    fields >> golden.world >> golden.rows >> records >> base;
    golden.records = decode_records(from_hexadecimal(records));
    golden.base = from_hexadecimal(base);
    bases.push_back(std::move(golden));
  }
  return bases;
}

void make_dropped(MemoryEventLog& log, const std::vector<Record>& records,
                  const std::string& base) {
  MerkleFrontier tree;
  RetentionPlan plan;
  {
    MemoryEventLog whole;
    for (const Record& record : records) append(whole, record);
    plan = plan_of(whole, records);
  }
  for (const Record& record : records) {
    append(log, record);
    if (record.position == plan.horizon) tree = log.frontier();
  }
  plan.drop.base = base;
  Sha256 hashing;
  HistoryDropped event;
  event.horizon = plan.horizon;
  event.root = merkle_root(tree, hashing);
  event.base = sha256(base);
  Record notice;
  notice.position = log.tail() + 1;
  notice.stream = Stream::server();
  notice.recorded_at_ns = records.back().recorded_at_ns;
  notice.event = Event(ServerEvent(event));
  const auto dropped = log.drop(log.tail(), {notice}, plan.drop);
  ASSERT_TRUE(dropped) << dropped.error().message;
}

std::string base_today(const std::vector<Record>& records) {
  MemoryEventLog log;
  for (const Record& record : records) append(log, record);
  return plan_of(log, records).drop.base;
}

}  // namespace signalbox::test
