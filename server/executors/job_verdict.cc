#include "server/executors/job_verdict.h"

#include <sysexits.h>
#include <cstring>

#include "domain/limits.h"
#include "server/platform/child_process.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

JobVerdict failed(ErrorClass error_class, std::string code, const std::string& message) {
  return {Outcome::failed, Failure{Outcome::failed, error_class, std::move(code),
                                   shortened(message, limits::reason_bytes_max)}};
}

JobVerdict timed_out(const StationDefinition& definition) {
  return {Outcome::timeout,
          Failure{Outcome::timeout, ErrorClass::transient, "TIMEOUT",
                  "not done after " + std::to_string(definition.timeout_ms) + " ms"}};
}

JobVerdict canceled(const std::string& message) {
  JobVerdict verdict = failed(ErrorClass::terminal, "CANCELED", message);
  verdict.outcome = Outcome::canceled;
  return verdict;
}

ErrorClass class_of(std::int32_t exit_code) {
  switch (exit_code) {
    case EX_TEMPFAIL:
      return ErrorClass::transient;
    case EX_CONFIG:
    case exit_not_executable:
    case exit_not_found:
      return ErrorClass::config;
    default:
      return ErrorClass::terminal;
  }
}

// The exit code means failure; the declared result may say which one.
JobVerdict failed_exit(const StationDefinition& definition, std::int32_t exit_code,
                       const Stored<DeclaredResult>& declared, const std::string& last_lines) {
  const std::string exited = "exit code " + std::to_string(exit_code);
  const std::string explained = last_lines.empty() ? exited : exited + ": " + last_lines;
  if (!declared) {
    const bool invalid = declared.error().kind == StoreError::Kind::damaged;
    return failed(
        class_of(exit_code), "EXIT_NONZERO",
        invalid ? exited + "; its result.json is invalid: " + declared.error().message : explained);
  }
  std::string message = declared->error_message.value_or(explained);
  // The job's own message may name the exit code already. That of a built-in station is whole: its
  // process is the service's own, and nobody wrote a command that could have exited.
  const bool is_whole = definition.executor == ExecutorKind::builtin && declared->error_message;
  if (!is_whole && message.find(exited) == std::string::npos) message += " (" + exited + ")";
  return failed(declared->error_class.value_or(class_of(exit_code)),
                declared->error_code.value_or("EXIT_NONZERO"), message);
}

// The command exited with 0; the declared result decides.
JobVerdict declared_end(const DeclaredResult& declared) {
  const std::string message = declared.error_message.value_or(
      declared.summary.value_or("the job says so, without a reason"));
  switch (declared.outcome) {
    case Outcome::succeeded:
      return {Outcome::succeeded, {}};
    case Outcome::canceled:
      return canceled(message);
    case Outcome::failed:
      return failed(declared.error_class.value_or(ErrorClass::terminal),
                    declared.error_code.value_or("JOB_FAILED"), message);
    case Outcome::timeout: {
      JobVerdict verdict = failed(declared.error_class.value_or(ErrorClass::transient),
                                  declared.error_code.value_or("TIMEOUT"), message);
      verdict.outcome = verdict.failure.outcome = Outcome::timeout;
      return verdict;
    }
  }
  return failed(ErrorClass::terminal, "JOB_FAILED", message);
}

}  // namespace

JobVerdict job_verdict(const StationDefinition& definition, const ShimResult& facts,
                       const Stored<DeclaredResult>& declared, const std::string& last_lines) {
  if (facts.canceled) return canceled("canceled");
  if (!facts.error_code.empty()) {
    // The job may have written the facts, and a code that isn't one would be refused for good.
    return failed(facts.error_is_transient ? ErrorClass::transient : ErrorClass::config,
                  is_error_code(facts.error_code) ? facts.error_code : "JOB_INVALID",
                  facts.error_message);
  }
  if (facts.timed_out) return timed_out(definition);
  if (facts.signal) {
    return failed(ErrorClass::transient, "KILLED_BY_SIGNAL",
                  "killed by signal " + std::to_string(*facts.signal) + " (" +
                      strsignal(*facts.signal) + ")");
  }
  if (!facts.exit_code) {
    return failed(ErrorClass::transient, "EXIT_UNKNOWN", "the command's exit was never seen");
  }
  if (*facts.exit_code != 0) {
    return failed_exit(definition, *facts.exit_code, declared, last_lines);
  }
  if (declared) return declared_end(*declared);
  if (declared.error().kind != StoreError::Kind::not_found) {
    return failed(ErrorClass::terminal, "RESULT_INVALID",
                  "its result.json is invalid: " + declared.error().message);
  }
  if (definition.require_result) {
    return failed(ErrorClass::terminal, "RESULT_MISSING",
                  "exit code 0, but the station requires a result.json and there is none");
  }
  return {Outcome::succeeded, {}};
}

}  // namespace signalbox
