// What answers the console in the place of a server: the log of a service that doesn't run, or a
// run's capsule. Nothing is written, and nothing will happen in it.
//
// Called on one thread; answering blocks it, except for what takes long.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/platform/blocking_pool.h"
#include "server/transport/http/http_answer.h"
#include "server/transport/http/route.h"

namespace signalbox {

class ConsoleSource {
 public:
  // The parts of an HTTP request that an answer depends on; empty: the field is missing.
  struct Request {
    std::string_view verb;
    std::string_view target;
    std::string_view accept;
    std::string_view accept_encoding;
    std::string_view if_none_match;
    std::string_view body;
    Unwanted unwanted = nullptr;  // set once the browser has closed the connection
  };

  using Answered = std::function<void(HttpAnswer answer)>;

  ConsoleSource() = default;
  ConsoleSource(const ConsoleSource&) = delete;
  ConsoleSource& operator=(const ConsoleSource&) = delete;
  virtual ~ConsoleSource() = default;

  // Answers what the console asks: its files, JSON-RPC queries, artifacts, and the stream of events
  // with 204, because none will come. 404 for all else. Calls `answered` once, at once or later on
  // another thread; not any more after stop(). Of the request only `unwanted` is used later.
  void answer(const Request& request, const Answered& answered);
  // Ends what takes long. Blocks until it has ended.
  virtual void stop() {}

 protected:
  using AnsweredLine = std::function<void(std::string line)>;

  // Returns the response to a JSON-RPC request that is refused.
  static std::string refusal_line(const boost::json::object& request, const Rejection& rejection);
  // Returns the response with this result.
  static std::string result_line(const boost::json::object& request, boost::json::object result);
  // Returns the answer with the content of an artifact.
  static HttpAnswer artifact_answer(const std::string& name, std::string content);

 private:
  // Passes on the response to a line of JSON-RPC, as answer() does.
  virtual void answer_line(std::string_view line, const Unwanted& unwanted,
                           const AnsweredLine& answered) = 0;
  // `params` has the run_id and the name.
  virtual HttpAnswer artifact(const PathParams& params) = 0;
};

}  // namespace signalbox
