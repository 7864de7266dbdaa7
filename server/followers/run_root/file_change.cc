#include "server/followers/run_root/file_change.h"

namespace signalbox {

void RunRootBacklog::add(FileChange change) {
  const auto [place, is_new] = entries_.try_emplace(Key{change.root, change.path});
  Entry& entry = place->second;
  bytes_ += change.bytes.size();
  if (is_new) {
    entry.first = change.position;
    entry.change = std::move(change);
    return;
  }
  if (change.kind == FileChange::Kind::append) {
    entry.change.bytes += change.bytes;
    entry.change.position = change.position;
    return;
  }
  bytes_ -= entry.change.bytes.size();
  entry.change = std::move(change);
}

RunRootBacklog::Entry RunRootBacklog::take_first() {
  Entry entry = std::move(entries_.extract(entries_.begin()).mapped());
  bytes_ -= entry.change.bytes.size();
  return entry;
}

}  // namespace signalbox
