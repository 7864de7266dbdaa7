// Where a data directory keeps its artifacts: the table [artifacts] of the configuration file. The
// service notes it in <data>/artifacts/store.json, without credentials, so that commands that read
// the data directory without a service find them as well.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "server/platform/s3_client.h"
#include "server/platform/service_artifacts.h"

namespace signalbox {

// The values as written in the configuration file, except that paths are absolute.
struct ArtifactTexts {
  std::string store = "directory";  // or s3://bucket/prefix
  std::string endpoint;             // empty: that of AWS in the region
  std::string region = "us-east-1";
  std::string credentials = {};            // a file, or empty: the environment has them
  std::string certificate_authority = {};  // a PEM file to trust instead of the system's, or empty
  std::string runner_endpoint = {};        // where runners reach the store; empty: at `endpoint`

  bool operator==(const ArtifactTexts&) const = default;
};

// The variables that credentials are read from if no file is named. Jobs don't get them then.
inline constexpr const char* aws_variables[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                                "AWS_SESSION_TOKEN"};

// Returns the text of the key, or nullptr if there is no such key. Sets `is_path` if a relative
// value is to be resolved against the directory of the configuration file.
std::string* artifact_text(ArtifactTexts& texts, std::string_view key, bool& is_path);

// Checks the texts and returns the settings of the store of objects; nullopt for the directory. The
// credentials are read at each use, so that they may be changed meanwhile. The error is a sentence
// that names the key and says what to write instead.
tl::expected<std::optional<S3Settings>, std::string> read_artifact_settings(
    const ArtifactTexts& texts);

// Returns the credentials in a file as AWS's tools write it: of its section [default], or of lines
// before any section. The error is for a person, and quotes nothing of the file.
tl::expected<AwsCredentials, std::string> read_aws_credentials(const std::string& path);

// Writes the note, or removes it if everything is in the directory. Blocks on the disk.
Stored<void> note_artifact_store(const std::filesystem::path& data, const ArtifactTexts& texts);

// Returns the artifacts of a data directory by its note. A note that can't be read counts as none.
// Blocks on the disk.
std::unique_ptr<ServiceArtifacts> open_artifacts(const std::filesystem::path& data);

}  // namespace signalbox
