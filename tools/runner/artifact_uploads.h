// How a runner's artifacts get to its service: straight into the service's store of objects, where
// it gives a URL for that and the store can be reached from here; else through the service.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "server/platform/artifact_store.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// One thread's.
class ArtifactUploads {
 public:
  // Calls `runner.upload` with the params, to which it adds who the runner is.
  using Call = std::function<Called<boost::json::object>(boost::json::object params)>;
  using Log = std::function<void(bool ok, const std::string& text)>;

  // How long a store that couldn't be used isn't tried again, unless the constructor is given
  // another pause: each try may take a time-out.
  static constexpr std::chrono::minutes direct_pause{10};

  // The code of the error of an artifact that isn't here any more.
  static constexpr const char* gone_code = "ARTIFACT_GONE";

  // `artifacts` outlives this. `is_service_here`: it is reached on this machine, so that a store on
  // loopback is the one that it means. `is_stopping` makes an upload under way fail; any thread
  // calls it.
  ArtifactUploads(const ArtifactStore& artifacts, bool is_service_here, Call call,
                  std::function<bool()> is_stopping, Log log,
                  std::chrono::milliseconds pause = direct_pause);

  // Returns once the service has the contents and has checked them: the artifacts to name. With
  // `bundles`, those of at most limits::bundled_artifact_bytes_max are members of one bundle, which
  // is named behind them. Blocks.
  Called<std::vector<Artifact>> upload(const std::vector<Artifact>& artifacts, bool bundles);

 private:
  [[nodiscard]] Called<std::string> content_of(const Artifact& artifact) const;
  Called<void> upload_content(const Artifact& artifact, std::string_view content);
  // Returns whether the content went into the store by what the service has answered.
  bool put_directly(const boost::json::object& answer, std::string_view content);
  void note_direct_success();
  void note_direct_failure(const std::string& why);
  [[nodiscard]] bool may_try_directly() const;

  const ArtifactStore& artifacts_;
  const bool is_service_here_;
  const Call call_;
  const std::function<bool()> is_stopping_;
  const Log log_;
  const std::chrono::milliseconds pause_;
  std::optional<std::chrono::steady_clock::time_point> direct_again_at_;  // after a failure
  bool has_told_failure_ = false;  // since an upload into the store has succeeded
};

}  // namespace signalbox
