// Reads everything that waits for a person, of which `attention.list` answers a page at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "server/rpc/page_limit.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Calls `attention.list` with these params.
using AskPage = std::function<Called<boost::json::object>(boost::json::object params)>;

// Returns the items of these kinds, or of all without one, of every page: an answer in the form of
// `attention.list` that has no next one, and is `partial` if a page was. Blocks.
Called<boost::json::object> read_waiting_items(const std::vector<std::string>& kinds,
                                               const AskPage& ask,
                                               std::uint32_t page_items = attention_list_rows_max);

// Calls `run.diff` with these params.
using AskChange = std::function<Called<boost::json::object>(boost::json::object params)>;

// Says of approvals how large the change is that they are about, where the server doesn't, because
// there is no change.patch yet: adds `change` ({files, added, removed}) to the items. Asks for some
// of them only, and for no more once that took a while: git may have much to compare.
class ChangeSizes {
 public:
  explicit ChangeSizes(AskChange ask) : ask_(std::move(ask)) {}
  void add_to(boost::json::object& item);

 private:
  AskChange ask_;
  std::size_t asked_ = 0;
  std::chrono::steady_clock::duration taken_{};
};

// Returns how large the change is that an approval is about; empty if that isn't known.
std::string change_size_text(const boost::json::object& item);

// Returns sentences about the work that an approval is about: that it changes what checks it, and
// what was left out.
std::vector<std::string> findings_of(const boost::json::object& item);

}  // namespace signalbox
