#include "store/batch_encoder.h"

#include "store/frame.h"
#include "store/merkle_tree.h"

namespace signalbox {
namespace {

// What a batch of unusual size took is given back.
constexpr std::size_t kept_bytes_max = 4 * 1024 * 1024;

}  // namespace

void BatchEncoder::begin(std::span<const Commit> commits, const RandomSource& random) {
  if (bytes_.capacity() > kept_bytes_max) bytes_ = std::string();
  bytes_.clear();
  entry_ends_.clear();
  places_.clear();
  for (const Commit& commit : commits) {
    for (const Record& record : commit) {
      Salt salt;
      random(salt);
      const Frame frame = encode_record(record, salt, bytes_);
      const std::size_t leaf_bytes = frame.header.size() + frame.salted_payload.size();
      places_.push_back(
          {bytes_.size() - leaf_bytes, frame.header.size(), frame.salted_payload.size()});
    }
    entry_ends_.push_back(bytes_.size());
  }
  leaves_.resize(places_.size());
  hashing_.start(bytes_, places_, leaves_);
}

std::string_view BatchEncoder::entry(std::size_t index) const {
  const std::size_t begin = index == 0 ? 0 : entry_ends_[index - 1];
  return std::string_view(bytes_).substr(begin, entry_ends_[index] - begin);
}

void BatchEncoder::end(Sha256& sha256, MerkleFrontier& frontier) {
  hashing_.finish(sha256);
  for (const Digest& leaf : leaves_) append_leaf(frontier, leaf, sha256);
}

}  // namespace signalbox
