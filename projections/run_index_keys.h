// The keys of the run index in its table. Internal to projections/.
//
//   r <started>                  the row, by the position of its RunStarted
//   i <run id>                   <started>
//   k <idempotency key>          <started>; of a dropped run the position of its end
//   s <status> <started>         -
//   p <project> <started>        -
//   l <name> <value> <started>   -
//   e <started> <first>          positions of the run's events from <first> on, see noun_rows.h
//   h <hour>                     the least and the greatest <started> of that hour
//   d <digest>                   a pipeline's definition
//   c                            how many runs have which status
//   t <position>                 a row of the tick ledger, by the position of its event
//   o <loop> <position>          -
//   u <run id> <position>        -
//   y <project> <station> <error class> <strategy>   a row of the strategy ledger
//   w <submitted>                a row of the card index, by the position of its CardSubmitted
//   j <card id>                  <submitted>
//   x <run id>                   <submitted> of the card that it is a run of
//   m <card status> <submitted>  -
//   n <project> <submitted>      -
//   q <project> <card status> <submitted>            -
//   v <submitted> <first>        positions of the card's events from <first> on
//   g <project>                  how many of its cards have which status
//   f <project>                  the position of its latest PolicyRefused
//   z <project>                  the position of its latest PolicyAdopted
//   C <level> <number>           the counts of an interval of the log calendar
//   M <position>                 a mark of the log calendar
//   H <token>                    who holds a lock
//   E <duration> <position>      who held a lock, by the position of the end, see lock_ledger.cc
//   b                            the position of the HistoryDropped whose base the rows began with
//
// A base of dropped records has none of those with capital letters: they are of the remaining
// records alone, and of the locks that are held in its state.
//
// Positions and hours are 8 bytes, big endian, so that keys sort by them. Texts are preceded by
// their length in one byte (limits.h bounds them below 256).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/ids.h"

namespace signalbox::run_index_keys {

inline void append_big_endian(std::string& out, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(number >> shift)));
  }
}

// Returns the number in the last 8 bytes; 0 if there are fewer.
inline std::uint64_t trailing_number(std::string_view bytes) {
  std::uint64_t number = 0;
  if (bytes.size() < 8) return 0;
  for (const char byte : bytes.substr(bytes.size() - 8)) {
    number = number << 8U | static_cast<unsigned char>(byte);
  }
  return number;
}

inline std::string numbered(std::string prefix, std::uint64_t number) {
  append_big_endian(prefix, number);
  return prefix;
}
inline std::string number_bytes(std::uint64_t number) { return numbered({}, number); }

inline void append_text(std::string& out, std::string_view text) {
  out.push_back(static_cast<char>(static_cast<unsigned char>(text.size())));
  out.append(text);
}

template <class Bytes>
std::string raw(char kind, const Bytes& id) {
  std::string key(1, kind);
  key.append(raw_bytes(id));
  return key;
}

// Returns a list's key prefix: its kind and the text that its entries have in common.
inline std::string text(char kind, std::string_view text) {
  std::string key(1, kind);
  append_text(key, text);
  return key;
}
template <class Status>
std::string status(char kind, Status status) {
  return {kind, static_cast<char>(status)};
}

inline std::string idempotency_key(std::string_view key) { return "k" + std::string(key); }
inline std::string pipeline(const Digest& digest) { return raw('d', digest); }
inline bool is_pipeline(std::string_view key) { return !key.empty() && key.front() == 'd'; }
inline std::string label(std::string_view name, std::string_view value) {
  std::string key = text('l', name);
  append_text(key, value);
  return key;
}

// Returns the hour of a time, offset so that times before 1970 also sort first.
inline std::uint64_t hour_of(std::int64_t time_ns) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  const std::int64_t hour = time_ns / hour_ns - (time_ns % hour_ns < 0 ? 1 : 0);
  return static_cast<std::uint64_t>(hour) + (std::uint64_t{1} << 63U);
}
inline std::string hour(std::uint64_t hour) { return numbered("h", hour); }

inline constexpr std::string_view counts = "c";
inline constexpr std::string_view base_position = "b";

}  // namespace signalbox::run_index_keys
