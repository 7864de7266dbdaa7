#include "tools/audit/audit_keys.h"

#include <fcntl.h>
#include <unistd.h>

#include "domain/try.h"
#include "server/scheduler/retention_settings.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "tools/cli/text_source.h"

namespace signalbox {
namespace {

std::string without_line_break(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

Called<NoteVerifier> make_key_file(const std::filesystem::path& file, const std::string& name) {
  if (!valid_note_name(name)) {
    return tl::unexpected(
        usage_error("--name names the log, such as example.com/box: at most 128 letters, "
                    "digits and -._~/:@%; not " +
                    name));
  }
  const NoteSigner signer = NoteSigner::generate(name);
  const FileDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out && errno == EEXIST) {
    return tl::unexpected(
        usage_error(file.string() + " is there already: a key is never replaced"));
  }
  if (!out) return tl::unexpected(from_store_error(system_error("create", file)));
  const auto give_up = [&file](const char* verb) {
    auto error = from_store_error(system_error(verb, file));
    ::unlink(file.c_str());
    return tl::unexpected(std::move(error));
  };
  if (!write_all(out, signer.private_text() + "\n")) return give_up("write");
  if (::fsync(out.get()) != 0) return give_up("sync");
  std::error_code ignored;
  const auto directory = std::filesystem::absolute(file, ignored).parent_path();
  TRY(called(sync_directory(directory)));
  return signer.verifier();
}

Called<std::vector<NoteSigner>> read_signers(const std::vector<std::string>& files) {
  std::vector<NoteSigner> signers;
  for (const std::string& file : files) {
    const auto text = TRY(called(signalbox::read_file(file, limits::signing_key_bytes_max)));
    auto signer = NoteSigner::parse(without_line_break(text));
    if (!signer) {
      return tl::unexpected(
          usage_error(file + " holds no private key of `signalbox audit keygen`"));
    }
    if (!signers.empty() && signers.front().verifier().name != signer->verifier().name) {
      return tl::unexpected(
          usage_error("the keys are of different logs: " + signers.front().verifier().name +
                      " and " + signer->verifier().name));
    }
    signers.push_back(*std::move(signer));
  }
  if (signers.empty()) {
    return tl::unexpected(
        usage_error("--signing-key is needed: the file of the log's private key",
                    {"signalbox audit keygen -o audit.key --name example.com/box"}));
  }
  return signers;
}

Called<std::vector<NoteVerifier>> read_verifiers(const std::vector<std::string>& words) {
  std::vector<NoteVerifier> verifiers;
  for (const std::string& word : words) {
    const auto text = TRY(text_from(word));
    auto verifier = parse_verifier(without_line_break(text));
    if (!verifier) {
      return tl::unexpected(usage_error(
          "--key is a verifier key, NAME+ID+KEY as `signalbox audit keygen` prints it, or @FILE "
          "that holds one; not " +
          word));
    }
    verifiers.push_back(*std::move(verifier));
  }
  return verifiers;
}

std::vector<NoteVerifier> verifiers_of(const std::vector<NoteSigner>& signers) {
  std::vector<NoteVerifier> verifiers;
  for (const NoteSigner& signer : signers) verifiers.push_back(signer.verifier());
  return verifiers;
}

}  // namespace signalbox
