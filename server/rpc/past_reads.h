// Reads of the past that an answer needs, and that may take long: those of a repeated command,
// whose first answer is made again after its run has gone on.
//
// An answer is made on the engine's thread. The first time, it only notes the reads that it needs;
// they are done on another thread; then the answer is made again, with their values.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "server/rpc/api.h"

namespace signalbox {

class PastReads {
 public:
  // Returns the value of the read that is named `what`; an empty value if the read isn't done yet,
  // and notes it. Called on the engine's thread.
  template <class Value>
  Value get(const std::string& what, std::function<Value()> read) {
    if (const auto known = values_.find(what); known != values_.end()) {
      return std::any_cast<Value>(known->second);
    }
    wanted_[what] = [read = std::move(read)] { return std::any(read()); };
    return Value();
  }
  // Returns true if everything that get() was called for is there.
  [[nodiscard]] bool complete() const { return wanted_.empty(); }
  // Does the reads that get() has noted. Blocks; any thread, while no other uses this object.
  void read() {
    for (const auto& [what, read] : std::exchange(wanted_, {})) values_[what] = read();
  }

 private:
  std::map<std::string, std::any> values_;
  std::map<std::string, std::function<std::any()>> wanted_;
};

// Returns what `read` returns: by api.past, or at once without it. `read` is called on any thread,
// and what it refers to lives as long as `api`.
template <class Value>
Value from_past(const Api& api, const std::string& what, std::function<Value()> read) {
  return api.past == nullptr ? read() : api.past->get<Value>(what, std::move(read));
}

}  // namespace signalbox
