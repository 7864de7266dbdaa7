#include "projections/trace_span.h"

#include <algorithm>

#include "store/sha256.h"

namespace signalbox {
namespace {

template <class Bytes>
SpanId first_eight(const Bytes& bytes) {
  SpanId id;
  std::copy_n(bytes.begin(), id.bytes.size(), id.bytes.begin());
  if (id.is_none()) id.bytes.back() = 1;  // W3C Trace Context: an id of all zeros is invalid
  return id;
}

SpanId hashed(std::string_view prefix, const RunId& run_id, Position position) {
  std::string text(prefix);
  text.append(raw_bytes(run_id));
  text += std::to_string(position);
  return first_eight(sha256(text).bytes);
}

}  // namespace

SpanId run_span_id(const RunId& run_id, Position retried_at) {
  return hashed("signalbox run ", run_id, retried_at);
}

SpanId attempt_span_id(const Uuid& span_id) {
  const SpanId id = first_eight(span_id.bytes);
  // Random ids practically never have this prefix. Constructed ones, as in tests, may: those are
  // distinguished by their other bytes.
  return id.bytes == SpanId{{0, 0, 0, 0, 0, 0, 0, 1}}.bytes ? hashed("span ", span_id, 0) : id;
}

SpanId step_span_id(const RunId& run_id, Position token) {
  return hashed("signalbox step ", run_id, token);
}

SpanId usage_span_id(const RunId& run_id, Position position) {
  return hashed("signalbox usage ", run_id, position);
}

}  // namespace signalbox
