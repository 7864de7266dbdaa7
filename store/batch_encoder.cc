#include "store/batch_encoder.h"

#include <algorithm>

#include "store/frame.h"

namespace signalbox {
namespace {

// Memory above this is released after an unusually large batch.
constexpr std::size_t kept_bytes_max = 4 * 1024 * 1024;
// Number of commits that are encoded before their leaves are offered for hashing.
constexpr std::size_t block_commits = 32;

}  // namespace

void BatchEncoder::begin(std::span<const Commit> commits, const RandomSource& random) {
  if (bytes_ > kept_bytes_max) blocks_.clear();
  bytes_ = 0;
  entries_.clear();
  std::size_t leaves = 0;
  for (const Commit& commit : commits) leaves += commit.size();
  hashing_.begin(leaves == 0 ? 0 : commits.front().front().position - 1, leaves);
  for (std::size_t block = 0; !commits.empty(); ++block) {
    const std::size_t count = std::min(commits.size(), block_commits);
    if (block == blocks_.size()) blocks_.emplace_back();
    encode(commits.first(count), random, blocks_[block]);
    hashing_.offer();
    commits = commits.subspan(count);
  }
}

void BatchEncoder::encode(std::span<const Commit> commits, const RandomSource& random,
                          std::string& block) {
  block.clear();
  sizes_.clear();
  for (const Commit& commit : commits) {
    for (const Record& record : commit) {
      Salt salt;
      random(salt);
      const std::size_t before = block.size();
      const Frame frame = encode_record(record, salt, block);
      const std::size_t leaf_bytes = frame.header.size() + frame.salted_payload.size();
      sizes_.insert(sizes_.end(), {block.size() - before - leaf_bytes, frame.header.size(),
                                   frame.salted_payload.size()});
    }
  }
  // `block` doesn't change any more, so views into it stay valid.
  bytes_ += block.size();
  const std::string_view bytes = block;
  std::size_t at = 0;
  auto size = sizes_.begin();
  for (const Commit& commit : commits) {
    const std::size_t entry = at;
    for (std::size_t record = 0; record < commit.size(); ++record) {
      at += *size++;
      const std::size_t header = *size++;
      const std::size_t salted_payload = *size++;
      hashing_.add(bytes.substr(at, header), bytes.substr(at + header, salted_payload));
      at += header + salted_payload;
    }
    entries_.push_back(bytes.substr(entry, at - entry));
  }
}

void BatchEncoder::end(Sha256& sha256, MerkleFrontier& frontier) {
  hashing_.finish(sha256, frontier);
}

}  // namespace signalbox
