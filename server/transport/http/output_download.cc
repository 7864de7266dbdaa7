#include "server/transport/http/output_download.h"

#include <algorithm>
#include <utility>

#include "server/text/json_text.h"
#include "server/text/percent_coding.h"
#include "server/transport/http/byte_range.h"
#include "server/transport/http/call_line.h"
#include "server/transport/http/problem.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t output_piece_bytes = 256 * 1024;

// Consecutive bytes of a stream.
struct OutputBytes {
  std::uint64_t from = 0;
  std::string bytes;
};

using ReadPart =
    std::function<std::optional<OutputPart>(std::uint64_t from, std::size_t bytes_max)>;

// Reads the bytes [from, to) of the stream, without those at the beginning that aren't kept, up to
// the first after that which isn't. nullopt if it can't be read.
std::optional<OutputBytes> read_consecutive(const ReadPart& read, std::uint64_t from,
                                            std::uint64_t to) {
  OutputBytes found{from, {}};
  while (found.from + found.bytes.size() < to) {
    const std::uint64_t next = found.from + found.bytes.size();
    const auto part = read(next, std::min<std::uint64_t>(output_piece_bytes, to - next));
    if (!part) return std::nullopt;
    if (part->offset > next) {
      if (!found.bytes.empty()) break;
      found.from = std::min(part->offset, to);
    } else if (part->bytes.empty()) {
      break;  // it is shorter than it was
    }
    found.bytes += std::string_view(part->bytes).substr(0, to - found.from - found.bytes.size());
  }
  return found;
}

HttpAnswer unreadable_output(const AttemptOutput& output) {
  return problem({ErrorCode::ARTIFACT_NOT_FOUND,
                  "the output of the attempt was removed while it was read, or can't be read",
                  {{"station", output.station}, {"job_id", output.job_id}},
                  {}});
}

HttpAnswer no_such_range(const std::string& message, std::uint64_t end) {
  HttpAnswer answer = problem(
      416, {ErrorCode::INVALID_REQUEST, message, {{"bytes", static_cast<std::int64_t>(end)}}, {}});
  answer.headers.emplace_back("Content-Range", "bytes */" + std::to_string(end));
  return answer;
}

struct WholeOutput {
  std::string text;
  bool has_gap = false;  // a line stands in place of what isn't kept
};

// nullopt if it can't be read.
std::optional<WholeOutput> read_whole(const ReadPart& read, std::uint64_t end) {
  auto head = read_consecutive(read, 0, end);
  if (!head) return std::nullopt;
  const std::uint64_t head_bytes = head->bytes.size();
  if (head_bytes == end) return WholeOutput{std::move(head->bytes)};
  const auto tail = read_consecutive(read, head_bytes, end);
  if (!tail || tail->from == head_bytes) return std::nullopt;
  const std::string gap = std::to_string(tail->from - head_bytes);
  return WholeOutput{std::move(head->bytes) + "\n… " + gap + " bytes aren't kept …\n" + tail->bytes,
                     true};
}

// Jobs print what they like: the header fields keep a browser from showing it as a page of this
// origin. `ranges`: of what is sent.
HttpAnswer output_headers(const AttemptOutput& output, const std::string& etag,
                          const char* ranges = "bytes") {
  HttpAnswer answer;
  answer.media_type = "text/plain; charset=utf-8";
  if (!etag.empty()) answer.headers.emplace_back("ETag", etag);
  const std::string name =
      output.station + "-" + std::to_string(output.attempt) + "." + output.stream + ".txt";
  answer.headers.insert(answer.headers.end(),
                        {{"Accept-Ranges", ranges},
                         {"Cache-Control", "private, no-cache"},
                         {"Content-Disposition", content_disposition(name)},
                         {"Content-Security-Policy", "default-src 'none'; sandbox"}});
  return answer;
}

}  // namespace

HttpAnswer output_answer(const OutputReader& read, const AttemptOutput& output,
                         const DownloadHeaders& headers, bool is_head) {
  const ReadPart read_part = [&](std::uint64_t from, std::size_t bytes_max) {
    return read(output.job_id, output.stream, from, bytes_max);
  };
  const auto state = read_part(0, 0);
  if (!state || state->end < output.end) return unreadable_output(output);
  const std::uint64_t end = state->end;
  // A stream only grows, so of this length it has these bytes. But once a part isn't kept, the
  // whole has a line in its place, and no range could complete what a client has of it.
  const std::string etag = state->is_whole ? '"' + percent_encoded(output.job_id) + '-' +
                                                 output.stream + '-' + std::to_string(end) + '"'
                                           : std::string();
  HttpAnswer answer = output_headers(output, etag);
  if (!etag.empty() && names_entity_tag(headers.if_none_match, etag)) {
    answer.status = 304;
    answer.media_type.clear();
    return answer;
  }
  RequestedRange asked{RangeKind::whole, {0, end}};
  const bool is_same = headers.if_range.empty() || headers.if_range == etag;
  if (is_same && !is_head) asked = read_range(headers.range, end);
  if (asked.kind == RangeKind::unsatisfiable) {
    return no_such_range("so far the output has no such range", end);
  }
  if (asked.kind == RangeKind::whole) {
    auto whole = read_whole(read_part, end);
    if (!whole) return unreadable_output(output);
    // Ranges count the bytes that were printed, which aren't those of this answer.
    if (whole->has_gap) answer = output_headers(output, {}, "none");
    answer.body = std::move(whole->text);
    return answer;
  }
  auto part = read_consecutive(read_part, asked.range.from, asked.range.from + asked.range.bytes);
  if (!part) return unreadable_output(output);
  if (part->bytes.empty()) return no_such_range("these bytes of the output aren't kept", end);
  answer.status = 206;
  answer.headers.emplace_back("Content-Range",
                              "bytes " + std::to_string(part->from) + "-" +
                                  std::to_string(part->from + part->bytes.size() - 1) + "/" +
                                  std::to_string(end));
  answer.body = std::move(part->bytes);
  return answer;
}

void OutputDownload::on_answer(const std::string& line) {
  const auto result = result_text(line);
  if (!result) return session().respond(problem_of_line(line));
  const json::object found = parse_own_answer(*result);
  const auto text = [&found](const char* name) { return std::string(found.at(name).as_string()); };
  AttemptOutput output{text("job_id"), text("station"),
                       found.at("attempt").to_number<std::int64_t>(), text("stream"),
                       found.at("end").to_number<std::uint64_t>()};
  Lane lane{.name = "output of " + output.job_id};
  session().service().blocking.run(
      std::move(lane),
      [self = shared_from_this(), output = std::move(output)]() -> std::function<void()> {
        const auto answer = std::make_shared<HttpAnswer>(
            output_answer(self->session().service().read_output, output, self->headers_,
                          self->session().is_head()));
        return [self, answer] { self->session().respond(std::move(*answer)); };
      });
}

}  // namespace signalbox
