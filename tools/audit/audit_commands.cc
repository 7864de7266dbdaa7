// `signalbox audit keygen`, `adopt`, `checkpoint`, `prove`: makes and adopts keys, and signs
// checkpoints and proofs. Also the options that all audit commands share.
#include <memory>
#include <optional>

#include "domain/try.h"
#include "store/durable_file.h"
#include "store/merkle_tree.h"
#include "store/tree_head.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_log.h"
#include "tools/audit/audit_options.h"
#include "tools/audit/leaf_scan.h"
#include "tools/audit/tlog_proof.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Called<json::object> adopt_key(const Invocation& invocation, const std::string& verifier_key) {
  return call_server(invocation, "audit.adopt_key", {{"verifier_key", verifier_key}});
}

void add_keygen(ToolCommand audit, Invocation& invocation) {
  struct Options {
    std::string file, name;
    bool adopt = false;
  };
  ToolCommand command = audit.add_subcommand(
      "keygen", "Generate the key that signs the log's tree; prints the verifier key");
  const auto options = std::make_shared<Options>();
  command.add_option("-o,--output", options->file, "A new file for the private key")
      .required()
      .type_name("FILE");
  command.add_option("--name", options->name, "The log's name, as a URL without its scheme")
      .required();
  command.add_flag("--adopt", options->adopt, "Record the key in the log as well");
  command.footer(
      "The private key stays in the file, which only its owner can read; the server\n"
      "never needs it. Give the verifier key, on stdout, to those who check exports.\n\n"
      "Examples:\n"
      "  signalbox audit keygen -o audit.key --name example.com/box > audit.vkey\n"
      "  signalbox audit keygen -o next.key --name example.com/box --adopt > next.vkey");
  command.action([options, &invocation] {
    const auto made = make_key_file(options->file, options->name);
    if (!made) return answer(invocation, tl::unexpected(made.error()), {});
    json::object result{
        {"name", made->name}, {"verifier_key", made->text()}, {"file", options->file}};
    if (options->adopt) {
      const auto adopted = adopt_key(invocation, made->text());
      if (!adopted) {
        write_message("signalbox: the key is in " + options->file +
                      ", but the server refused it\n  try: " +
                      with_connection("signalbox audit adopt '" + made->text() + "'\n",
                                      invocation.connection()));
        return answer(invocation, tl::unexpected(adopted.error()), {});
      }
      result["adopted_position"] = adopted->at("adopted_position");
    }
    return answer(invocation, result, [](const json::object& key, const Terminal&) {
      return text_at(key, "verifier_key") + "\n";
    });
  });
}

void add_adopt(ToolCommand audit, Invocation& invocation) {
  ToolCommand command =
      audit.add_subcommand("adopt", "Record in the log that another key signs its tree");
  const auto key = std::make_shared<std::string>();
  command.add_option("KEY", *key, "The verifier key, or @FILE").required();
  command.footer(
      "Sign with both keys for a while (--signing-key twice): those who trust the old\n"
      "key find the new one in the log.\n\n"
      "Examples:\n"
      "  signalbox audit adopt @next.vkey");
  command.action([key, &invocation] {
    const auto verifiers = read_verifiers({*key});
    if (!verifiers) return answer(invocation, tl::unexpected(verifiers.error()), {});
    return answer(invocation, adopt_key(invocation, verifiers->front().text()),
                  [](const json::object& result, const Terminal&) {
                    return true_at(result, "adopted")
                               ? "adopted at position " + text_at(result, "adopted_position") + "\n"
                               : std::string("this key is already in use\n");
                  });
  });
}

struct SignOptions {
  std::optional<std::uint64_t> to;
  std::optional<std::string> output;
  std::vector<std::string> signing_keys;
  std::uint64_t position = 0;
};

void add_sign_options(ToolCommand command, SignOptions& options) {
  add_signing_keys(command, options.signing_keys);
  command.add_option("--to", options.to, "The log up to this position; default: its end")
      .type_name("POSITION");
  command.add_option("-o,--output", options.output, "The output file; default: stdout")
      .type_name("FILE");
}

// Prints result[key]: with --json in the result, else alone in the output file or on stdout.
ExitCode put_signed(const Invocation& invocation, const SignOptions& options,
                    const Called<json::object>& made, const char* key) {
  if (made && options.output) {
    if (auto written = write_output(*options.output, text_at(*made, key)); !written) {
      return answer(invocation, tl::unexpected(written.error()), {});
    }
  }
  return answer(invocation, made, [&](const json::object& result, const Terminal&) {
    return options.output ? std::string() : text_at(result, key);
  });
}

Called<json::object> make_checkpoint(const Invocation& invocation, const SignOptions& options) {
  const auto signers = TRY(read_signers(options.signing_keys));
  const auto log = TRY(open_audit_log(invocation.data_directory()));
  const Position to = options.to.value_or(log.tail());
  TRY(require_position(log, to));
  // The whole log is read, the part that a snapshot vouches for included: the result is signed.
  MerkleFrontier frontier;
  Sha256 sha256;
  LeafScan scan;
  scan.to = to;
  scan.take = [&](LeafChunk&, const MerkleFrontier& tree) -> Called<void> {
    if (tree.leaves == to) frontier = tree;
    return {};
  };
  TRY(scan_leaves(log, scan));
  const TreeHead head{signers.front().verifier().name, to, merkle_root(frontier, sha256)};
  return json::object{{"origin", head.origin},
                      {"size", head.size},
                      {"root", to_hex(head.root)},
                      {"checkpoint", sign_note(tree_head_text(head), signers)}};
}

void add_checkpoint(ToolCommand audit, Invocation& invocation) {
  ToolCommand command =
      audit.add_subcommand("checkpoint", "Sign the log's current size and tree root");
  const auto options = std::make_shared<SignOptions>();
  add_sign_options(command, *options);
  command.footer(
      "Reads only; the directory may be that of a running server. Keep the checkpoint\n"
      "elsewhere: later it shows whether the log was rewritten (audit verify\n"
      "--old-checkpoint).\n\n"
      "Examples:\n"
      "  signalbox audit checkpoint --signing-key audit.key > monday.checkpoint");
  command.action([options, &invocation] {
    return put_signed(invocation, *options, make_checkpoint(invocation, *options), "checkpoint");
  });
}

Called<json::object> make_proof(const Invocation& invocation, const SignOptions& options) {
  const auto signers = TRY(read_signers(options.signing_keys));
  const auto log = TRY(open_audit_log(invocation.data_directory()));
  const Position size = options.to.value_or(log.tail());
  TRY(require_position(log, size));
  TRY(require_position(log, options.position));
  if (options.position > size) {
    return tl::unexpected(usage_error("POSITION lies after --to"));
  }
  const auto proof = TRY(prove_position(log, options.position, size, signers));
  return json::object{{"position", options.position}, {"size", size}, {"proof", proof_text(proof)}};
}

void add_prove(ToolCommand audit, Invocation& invocation) {
  ToolCommand command = audit.add_subcommand("prove", "Prove that a record is in the log");
  const auto options = std::make_shared<SignOptions>();
  command.add_option("POSITION", options->position, "The record's position").required();
  add_sign_options(command, *options);
  command.footer(
      "The proof (c2sp.org/tlog-proof) holds the record's header, and of its payload\n"
      "only a salted digest. `signalbox audit verify FILE` checks it.\n\n"
      "Examples:\n"
      "  signalbox audit prove 42 --signing-key audit.key -o 42.tlog-proof\n"
      "  signalbox audit verify 42.tlog-proof --key @audit.vkey");
  command.action([options, &invocation] {
    return put_signed(invocation, *options, make_proof(invocation, *options), "proof");
  });
}

}  // namespace

void add_signing_keys(ToolCommand command, std::vector<std::string>& files) {
  command.add_option("--signing-key", files, "The file of the log's private key; repeatable")
      .required()
      .type_name("FILE")
      .repeatable();
}

void add_trusted_keys(ToolCommand command, std::vector<std::string>& words) {
  command.add_option("--key", words, "A trusted verifier key, or @FILE; repeatable")
      .required()
      .type_name("KEY")
      .repeatable();
}

Called<void> write_output(const std::string& file, std::string_view bytes) {
  std::error_code ignored;
  TRY(called(replace_file(std::filesystem::absolute(file, ignored), bytes)));
  return {};
}

void add_audit_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand audit = app.add_group(
      "audit",
      "Prove what the log says: keygen, adopt, checkpoint, export, verify, prove, retain, redact");
  audit.footer(
      "Examples:\n"
      "  signalbox audit keygen -o audit.key --name example.com/box > audit.vkey\n"
      "  signalbox audit export --signing-key audit.key -o ./export\n"
      "  signalbox audit verify ./export --key @audit.vkey");
  add_keygen(audit, invocation);
  add_adopt(audit, invocation);
  add_checkpoint(audit, invocation);
  add_audit_export_command(audit, invocation);
  add_audit_verify_command(audit, invocation);
  add_audit_retain_command(audit, invocation);
  add_prove(audit, invocation);
  add_audit_redact_command(audit, invocation);
}

}  // namespace signalbox
