#include "tools/audit/audit_verify.h"

#include <set>

#include "domain/try.h"
#include "store/durable_file.h"
#include "store/merkle_tree.h"
#include "tools/audit/export_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Reports files in the directory that the manifest doesn't name. An export in progress or
// interrupted may have some, which aren't part of it.
void report_unnamed_files(const fs::path& directory, const ExportManifest& manifest,
                          AuditFindings& findings) {
  std::set<std::string> named{std::string(checkpoint_name), std::string(manifest_name)};
  for (const ExportSegment& segment : manifest.segments) {
    named.insert(segment.lines_name());
    named.insert(segment.digests_name());
  }
  if (manifest.format == ExportFormat::tlog) named.insert("tile");
  std::error_code failed;
  if (fs::exists(directory / incomplete_name, failed)) return;
  for (const auto& file : fs::directory_iterator(directory, failed)) {
    const std::string name = file.path().filename().string();
    if (!named.contains(name)) findings.add({name, 0, 0, "it isn't part of the export"});
  }
}

Called<std::optional<TreeHead>> read_old_head(const VerifyRequest& request,
                                              const ExportManifest& manifest,
                                              AuditFindings& findings) {
  if (!request.old_checkpoint) return std::nullopt;
  const std::string name = request.old_checkpoint->string();
  const auto note = read_file(*request.old_checkpoint, checkpoint_bytes_max);
  if (!note) return tl::unexpected(usage_error(note.error().message));
  auto head = open_tree_head(*note, request.trusted);
  if (!head) {
    findings.add({name, 0, 0, head.error().message});
    return std::nullopt;
  }
  if (head->origin != manifest.origin) {
    return tl::unexpected(usage_error(name + " is of another log: " + head->origin));
  }
  if (head->size > manifest.to) {
    findings.add({std::string(checkpoint_name), 0, 0,
                  "it ends at " + std::to_string(manifest.to) + ", before the older one, " + name +
                      ", which ends at " + std::to_string(head->size)});
    return std::nullopt;
  }
  if (head->size + 1 < manifest.from) {
    return tl::unexpected(usage_error("the export begins at " + std::to_string(manifest.from) +
                                      ", so it can't show what the older checkpoint's " +
                                      std::to_string(head->size) + " records were: export from " +
                                      std::to_string(head->size + 1) + " or before"));
  }
  return *std::move(head);
}

}  // namespace

TreeCheck::TreeCheck(const ExportManifest& manifest, const std::optional<TreeHead>& old_head,
                     std::string old_file, AuditFindings& findings)
    : manifest_(manifest),
      old_head_(old_head),
      old_file_(std::move(old_file)),
      findings_(findings),
      frontier_(manifest.before) {
  compare_old();
}

void TreeCheck::add(const Digest& leaf) {
  append_leaf(frontier_, leaf, sha256_);
  compare_old();
}

void TreeCheck::compare_old() {
  if (!old_head_ || frontier_.leaves != old_head_->size) return;
  if (merkle_root(frontier_, sha256_) == old_head_->root) return;
  findings_.add({old_file_, 0, 0,
                 "the records up to " + std::to_string(old_head_->size) +
                     " aren't those of the older checkpoint: the log was rewritten"});
}

void TreeCheck::end() {
  if (frontier_.leaves == manifest_.to && merkle_root(frontier_, sha256_) == manifest_.root) return;
  findings_.add({std::string(checkpoint_name), 0, 0,
                 "the tree over the records isn't the one that it signs"});
}

Called<Verified> verify_export(const VerifyRequest& request) {
  std::error_code failed;
  if (!fs::is_directory(request.directory, failed)) {
    return tl::unexpected(usage_error("there is no directory " + request.directory.string()));
  }
  if (!fs::exists(request.directory / manifest_name, failed) &&
      !fs::exists(request.directory / checkpoint_name, failed) &&
      !fs::exists(request.directory / incomplete_name, failed)) {
    return tl::unexpected(usage_error(request.directory.string() + " is not an export"));
  }
  AuditFindings findings;
  const auto notes = read_export_notes(request.directory, request.trusted);
  if (!notes) {
    const bool incomplete = fs::exists(request.directory / incomplete_name, failed);
    findings.add(
        {notes.error().file, 0, 0,
         notes.error().message + (incomplete ? " (the export didn't come to its end)" : "")});
    return tl::unexpected(findings.error());
  }
  Verified verified;
  verified.manifest = notes->manifest;
  auto old_head = TRY(read_old_head(request, verified.manifest, findings));
  verified.old_head = old_head;
  report_unnamed_files(request.directory, verified.manifest, findings);
  TreeCheck tree(verified.manifest, verified.old_head,
                 request.old_checkpoint.value_or(fs::path()).string(), findings);
  if (verified.manifest.format == ExportFormat::tlog) {
    verify_tiles(request.directory, verified.manifest, tree, findings);
  } else {
    verify_cloud_events(request.directory, verified.manifest, tree, findings, verified);
  }
  tree.end();
  if (!findings.empty()) return tl::unexpected(findings.error());
  return verified;
}

}  // namespace signalbox
