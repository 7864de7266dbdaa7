#include "tools/audit/archive_redaction.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <span>

#include "domain/free_text.h"
#include "domain/try.h"
#include "server/text/cloud_event.h"
#include "store/directory_lock.h"
#include "store/durable_file.h"
#include "store/leaf_hashing.h"
#include "store/random_source.h"
#include "store/redaction.h"
#include "store/sha256.h"
#include "store/signed_note.h"
#include "store/tree_head.h"
#include "tools/audit/audit_findings.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/export_directory.h"
#include "tools/audit/redaction_plan.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// A line of an archive with the record that it carries.
struct CarriedRecord {
  std::string frame_bytes;
  Record record;
};

Called<CarriedRecord> record_of_line(const std::string& line, const std::string& file,
                                     Position position, std::string_view leaf) {
  CarriedRecord carried;
  const bool carries = carried_frame(line, carried.frame_bytes);
  const auto frame = carries ? parse_frame(carried.frame_bytes)
                             : store_failure(StoreError::Kind::damaged, "it carries no record");
  if (!frame) return tl::unexpected(tampered(file, position, frame.error().message));
  Sha256 sha256;
  const Digest hash = leaf_hash(*frame, sha256);
  if (frame->position != position ||
      std::memcmp(hash.bytes.data(), leaf.data(), leaf.size()) != 0) {
    return tl::unexpected(tampered(file, position, "its record isn't the one in the tree"));
  }
  TRY(called(decode_frame(*frame, carried.record)));
  return carried;
}

// Returns the event with the wanted free texts blanked, and sets `fields` to those that it had.
Called<Event> blanked_event(const ArchiveRedaction& request, const Record& record,
                            std::vector<std::string>& fields) {
  const std::vector<std::string> there = free_text_fields(record.event);
  const std::string name(tag_of(record.event).name);
  if (there.empty()) {
    return tl::unexpected(redaction_refused(
        "NOTHING_TO_REDACT",
        "record " + std::to_string(record.position) + " (" + name + ") has no free text",
        {{"position", record.position}, {"type", name}}));
  }
  for (const std::string& field : request.fields) {
    if (std::find(there.begin(), there.end(), field) != there.end()) continue;
    return tl::unexpected(usage_error("record " + std::to_string(record.position) + " (" + name +
                                      ") has no free text in " + field));
  }
  for (const FoundText& each : free_texts(record.event)) {
    const bool wanted =
        request.fields.empty() ||
        std::find(request.fields.begin(), request.fields.end(), each.field) != request.fields.end();
    const bool known = std::find(fields.begin(), fields.end(), each.field) != fields.end();
    if (wanted && !known && !is_blank(each.text)) fields.push_back(each.field);
  }
  return without_free_texts(record.event, fields, Blank::telling);
}

// Returns the line of the record with the replacement.
Called<std::string> redacted_line(const CarriedRecord& carried, Event replacement,
                                  const std::vector<std::string>& fields,
                                  const std::string& origin) {
  const auto whole = TRY(called(parse_frame(carried.frame_bytes)));
  if (!fits_as_replacement(whole, replacement)) {
    replacement = without_free_texts(carried.record.event, fields, Blank::shortest);
  }
  Salt salt;
  secure_random()(salt);
  const Position position = carried.record.position;
  const auto entry =
      TRY(called(redact_entry(carried.frame_bytes, position, position, replacement, salt)));
  const auto frame = TRY(called(parse_frame(entry.bytes)));
  Record record;
  TRY(called(decode_frame(frame, record)));
  Sha256 sha256;
  std::string line;
  append_cloud_event(frame, record, leaf_hash(frame, sha256), origin, line);
  return line;
}

// Copies the segment's file of lines, in which `index` (from 0) is replaced, and puts the copy in
// its place once it has all lines.
Called<void> replace_line(const fs::path& file, const ExportSegment& segment, std::uint64_t index,
                          const std::string& line) {
  std::ifstream lines(file, std::ios::binary);
  const fs::path part = file.string() + ".tmp";
  auto copy = TRY(ExportFile::create(part));
  std::string each;
  std::uint64_t number = 0;
  for (; std::getline(lines, each); ++number) {
    TRY(copy.write(number == index ? line : each + "\n"));
  }
  if (lines.bad() || number != segment.last - segment.first + 1) {
    std::error_code ignored;
    fs::remove(part, ignored);
    return tl::unexpected(tampered(segment.lines_name(), segment.first + number,
                                   "it can't be read from here on; nothing was changed"));
  }
  return place_file(part, file);
}

Called<std::string> line_at(const fs::path& file, std::uint64_t index) {
  std::ifstream lines(file, std::ios::binary);
  std::string line;
  for (std::uint64_t number = 0; std::getline(lines, line); ++number) {
    if (number == index) return line + "\n";
  }
  return tl::unexpected(tampered(file.filename().string(), 0, "lines are missing"));
}

// Returns the digests with that of the line at `place`.
std::string digests_with(std::string digests, std::size_t place, const std::string& line) {
  const Digest line_digest = sha256(line);
  std::memcpy(digests.data() + place + sizeof(Digest), line_digest.bytes.data(), sizeof(Digest));
  return digests;
}

// Signs the manifest, and before that the checkpoint for the signers that haven't.
Called<void> write_notes(const fs::path& archive, const ExportNotes& notes,
                         const ExportManifest& manifest, const std::vector<NoteSigner>& signers) {
  const std::string text = tree_head_text({manifest.origin, manifest.to, manifest.root});
  std::string checkpoint = notes.checkpoint;
  for (const NoteSigner& signer : signers) {
    const NoteVerifier& verifier = signer.verifier();
    if (!open_note(notes.checkpoint, std::span(&verifier, 1))) {
      checkpoint += signer.signature_line(text);
    }
  }
  if (checkpoint != notes.checkpoint) {
    TRY(called(replace_file(archive / checkpoint_name, checkpoint)));
  }
  TRY(called(replace_file(archive / manifest_name, sign_note(manifest_text(manifest), signers))));
  return {};
}

}  // namespace

Called<RedactedInArchive> redact_in_archive(const ArchiveRedaction& request) {
  // What is read here is what is written anew, so nobody else may change it in between.
  std::error_code unknown;
  DirectoryLock lock;
  if (fs::is_directory(request.archive, unknown)) {
    lock = TRY(called(DirectoryLock::take_directory(request.archive)));
  }
  std::vector<NoteVerifier> trusted = verifiers_of(request.signers);
  trusted.insert(trusted.end(), request.trusted.begin(), request.trusted.end());
  const auto notes = read_export_notes(request.archive, trusted);
  if (!notes) {
    return tl::unexpected(
        tampered(notes.error().file, 0,
                 notes.error().message + " (name the verifier key of another one with --key)"));
  }
  ExportManifest manifest = notes->manifest;
  if (manifest.format != ExportFormat::cloudevents) {
    return tl::unexpected(
        usage_error(request.archive.string() + " is an export as tiles, which have no texts"));
  }
  const auto segment = std::find_if(
      manifest.segments.begin(), manifest.segments.end(), [&](const ExportSegment& each) {
        return each.first <= request.position && request.position <= each.last;
      });
  if (segment == manifest.segments.end()) {
    return tl::unexpected(usage_error(
        request.archive.string() + " has the records " + std::to_string(manifest.from) + " to " +
        std::to_string(manifest.to) + ", not " + std::to_string(request.position)));
  }
  const bool is_signed_for_it = std::any_of(
      request.signers.begin(), request.signers.end(),
      [&](const NoteSigner& signer) { return signer.verifier().name == manifest.origin; });
  if (!is_signed_for_it) {
    return tl::unexpected(usage_error("the archive is of " + manifest.origin +
                                      ": name a key of this name with --signing-key"));
  }
  const std::uint64_t index = request.position - segment->first;
  const fs::path lines_file = request.archive / segment->lines_name();
  const auto digests = TRY(called(read_file(request.archive / segment->digests_name(),
                                            segment_records_max * record_digests_bytes)));
  if (digests.size() < (index + 1) * record_digests_bytes) {
    return tl::unexpected(tampered(segment->digests_name(), 0, "it is cut short"));
  }
  const std::size_t place = index * record_digests_bytes;
  auto line = TRY(line_at(lines_file, index));
  // What is signed anew is what was signed, but for this line. The manifest is the first to be
  // replaced after it, so a crash may have left digests that lack its own.
  if (sha256(digests) != segment->digests_sha256 &&
      sha256(digests_with(digests, place, line)) != segment->digests_sha256) {
    return tl::unexpected(
        tampered(segment->digests_name(), 0, "it isn't what the manifest was signed for"));
  }
  const auto carried = TRY(record_of_line(line, segment->lines_name(), request.position,
                                          std::string_view(digests).substr(place, sizeof(Digest))));
  RedactedInArchive done{std::string(tag_of(carried.record.event).name), {}, {}};
  auto replacement = TRY(blanked_event(request, carried.record, done.fields));
  for (const FoundText& each : free_texts(carried.record.event)) {
    const bool is_erased =
        std::find(done.fields.begin(), done.fields.end(), each.field) != done.fields.end();
    if (is_erased) done.erased.push_back(each);
  }
  if (request.dry_run) return done;
  if (!done.fields.empty()) {
    auto redacted =
        TRY(redacted_line(carried, std::move(replacement), done.fields, manifest.origin));
    line = std::move(redacted);
    TRY(replace_line(lines_file, *segment, index, line));
  }
  const auto found = TRY(called(parse_frame(carried.frame_bytes)));
  if (done.fields.empty() && !found.redacted()) return done;
  // Also repeats what a crash after the new line left undone, and lists what an earlier version has
  // erased.
  const std::string renewed = digests_with(digests, place, line);
  const Digest renewed_digest = sha256(renewed);
  const bool is_listed = std::binary_search(manifest.redacted_here.begin(),
                                            manifest.redacted_here.end(), request.position);
  if (renewed_digest != segment->digests_sha256 || !is_listed) {
    segment->digests_sha256 = renewed_digest;
    auto& redacted_here = manifest.redacted_here;
    const auto place_there =
        std::lower_bound(redacted_here.begin(), redacted_here.end(), request.position);
    if (!is_listed) redacted_here.insert(place_there, request.position);
    TRY(write_notes(request.archive, *notes, manifest, request.signers));
  }
  if (renewed == digests) return done;
  TRY(called(replace_file(request.archive / segment->digests_name(), renewed)));
  return done;
}

}  // namespace signalbox
