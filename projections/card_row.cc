#include "projections/card_row.h"

#include <variant>

namespace signalbox {
namespace {

struct ApplyToCardRow {
  CardRow& row;

  void operator()(const CardSubmitted&) const {}
  void operator()(const CardStarted& event) const {
    ++row.runs;
    row.run_id = event.run_id;
    clear_reason();
  }
  void operator()(const CardVerificationStarted&) const {}
  void operator()(const CardVerified& event) const {
    row.token = event.token;
    row.commit = event.commit;
    row.merges = 0;
  }
  void operator()(const CardBlocked& event) const {
    row.merge_run_id = {};
    row.code = event.code;
    row.message = event.message;
    row.retry_at_ns = event.retry_at_ns;
  }
  void operator()(const CardFailed& event) const {
    row.merge_run_id = {};
    row.code = event.code;
    row.message = event.message;
  }
  // The reason is kept until the card's next run or merge.
  void operator()(const CardUnblocked& event) const {
    if (row.status == CardStatus::verified) {
      row.merges = 0;
      return;
    }
    row.retry_at_ns = 0;
    row.commit.clear();
    if (!event.by_itself) row.runs = 0;
  }
  void operator()(const CardMergeStarted& event) const {
    ++row.merges;
    row.merge_run_id = event.run_id;
    clear_reason();
  }
  void operator()(const CardMergeDeferred& event) const {
    row.merge_run_id = {};
    row.code = event.code;
    row.message = event.message;
  }
  void operator()(const CardMerged& event) const { row.commit = event.commit; }
  void operator()(const CardPrioritySet& event) const { row.priority = event.priority; }

  void clear_reason() const {
    row.code.clear();
    row.message.clear();
  }
};

}  // namespace

CardRow card_row(const Record& record, const CardSubmitted& event) {
  CardRow row;
  row.card_id = record.stream.run_id;
  row.project = event.project;
  row.title = event.title;
  row.key = event.key;
  row.priority = event.priority;
  row.submitted_at_ns = record.recorded_at_ns;
  row.changed_at_ns = record.recorded_at_ns;
  row.submitted_position = record.position;
  row.last_position = record.position;
  return row;
}

Stored<void> apply(CardRow& row, const Record& record) {
  const auto next = next_status(row.status, tag_of(record.event).number);
  if (!next) {
    StoreError error;
    error.kind = StoreError::Kind::damaged;
    error.message = "the card index doesn't fit the log";
    error.position = record.position;
    return tl::unexpected(std::move(error));
  }
  row.status = *next;
  // What the card waits for goes on, as in the world (domain/card.h).
  if (event_as<CardPrioritySet>(record.event) == nullptr) row.changed_at_ns = record.recorded_at_ns;
  row.last_position = record.position;
  std::visit(ApplyToCardRow{row}, std::get<CardEvent>(record.event));
  return {};
}

}  // namespace signalbox
