// Adds the file retention to a fixture of the command line: rounds that the test triggers, and what
// they kept.
#pragma once

#include <filesystem>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {

template <class Base>
class WithFileRetention : public Base {
 protected:
  using Base::await;
  using Base::Base;
  using Base::result;
  using Base::rpc;
  using Base::server_;
  using Base::text;

  // Writes settings with these keys of [retention]. By itself a round is due on 29 February.
  void write_settings(const std::string& keys, const std::string& heartbeat = "366d") const {
    write_text(server_.data() / "signalbox.toml",
               "[board]\nheartbeat = \"" + heartbeat +
                   "\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n[retention]\n" + keys +
                   "files_schedule = \"0 0 29 2 *\"\ntime_zone = \"UTC\"\n");
  }

  [[nodiscard]] boost::json::object status() const {
    return rpc("server.status").at("file_retention").as_object();
  }
  [[nodiscard]] bool is_idle() const {
    const boost::json::object loops = rpc("loop.list");
    for (const boost::json::value& each : loops.at("loops").as_array()) {
      if (each.at("loop") == "file_retention") return each.at("tick").as_object().empty();
    }
    return false;
  }
  // Triggers a round and blocks until it has ended.
  void round() const {
    rpc("loop.trigger", {{"loop", "file_retention"}});
    await([&] { return is_idle(); });
  }
  // Triggers rounds until `path` is gone, which takes as long as the run is too young.
  void await_gone(const std::filesystem::path& path) const {
    await([&] {
      round();
      return !std::filesystem::exists(std::filesystem::symlink_status(path));
    });
  }
  // Triggers rounds until something of the run is kept, and returns why.
  [[nodiscard]] std::string await_kept(const std::string& run_id,
                                       const std::string& what = "") const {
    std::string reason;
    await([&] {
      round();
      reason = kept(run_id, what);
      return !reason.empty();
    });
    return reason;
  }
  // Returns why something of the run whose name has `what` is kept; "" if nothing is.
  [[nodiscard]] std::string kept(const std::string& run_id, const std::string& what = "") const {
    const boost::json::object present = status();
    for (const boost::json::value& each : present.at("measured").at("kept").as_array()) {
      const boost::json::object& row = each.as_object();
      if (text(row, "run_id") != run_id) continue;
      if (text(row, "what").find(what) != std::string::npos) return text(row, "reason");
    }
    return "";
  }

  [[nodiscard]] std::filesystem::path root_of(const std::string& run_id) const {
    return server_.data() / "runs" / run_id;
  }
};

}  // namespace signalbox
