#include "server/executors/coderunner/agent_prompt.h"

#include "domain/prompt_template.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr const char* implement_prompt =
    R"(Reach the goal below in the current directory. Nobody is there to answer questions: where something is open, decide, and say so at the end.

# Goal

{{goal}}
{{input}}{{previous}}
# How

{{strategy}}
Change only what the goal needs. Run the project's own tests for what you touch. Leave the changes in the working tree; they are committed for you. Run long commands in the foreground: nothing wakes you after your last message.

End with a summary of at most ten lines: what you changed, how you know that it works, what is left open.
)";

constexpr const char* verify_prompt =
    R"(Find out whether the work in the current directory reaches the goal below. Nobody is there to answer questions. Judge it as somebody who did not write it.

# Goal

{{goal}}
{{input}}{{previous}}
# How

{{strategy}}
Look at the changes against the commit that they start from, run the project's own tests, and try what the goal promises. Don't mend anything. Run long commands in the foreground: nothing wakes you after your last message.

End with a summary of at most ten lines: what you tried and what you saw. The last line is VERDICT: PASS if the goal is reached, and VERDICT: FAIL if it is not.
)";

bool begins_with_slash(std::string_view text) { return trimmed(text).starts_with('/'); }

// Returns the prompt such that claude doesn't take a goal or an input that begins with a slash for
// one of its commands. One that the station's own text begins with is meant.
std::string as_plain_text(const std::string& own, std::string prompt) {
  const bool is_value = begins_with_slash(prompt) && !begins_with_slash(own);
  return is_value ? "Do the following.\n\n" + prompt : prompt;
}

std::string section(const std::string& heading, const std::string& text) {
  return text.empty() ? std::string() : "\n# " + heading + "\n\n" + text + "\n";
}

}  // namespace

std::string strategy_sentence(Strategy strategy) {
  switch (strategy) {
    case Strategy::original:
      return "Go about it in the way that fits the goal best.";
    case Strategy::simplified:
      return "An earlier try failed: do the smallest thing that reaches the goal, and leave out "
             "everything that can be left out.";
    case Strategy::alternative:
      return "Earlier tries failed: take another approach than the one that was tried before.";
    case Strategy::decomposed:
      return "Earlier tries failed: split the goal into small steps first, then do one after the "
             "other and check each before the next.";
  }
  return {};
}

std::string agent_prompt(const Job& job) {
  const std::string own = job.definition.coderunner ? job.definition.coderunner->prompt : "";
  PromptValues values{job.goal, job.input, job.previous, strategy_sentence(job.strategy),
                      job.definition.name};
  if (!own.empty()) return as_plain_text(own, fill_prompt(own, values));
  values.input = section("Input", job.input);
  values.previous = section("What happened before", job.previous);
  return fill_prompt(job.definition.name == "verify" ? verify_prompt : implement_prompt, values);
}

bool asks_for_verdict(const Job& job) {
  const bool has_own = job.definition.coderunner && !job.definition.coderunner->prompt.empty();
  return job.definition.name == "verify" && !has_own;
}

WorkVerdict verdict_of(std::string_view answer) {
  answer = trimmed(answer, " \t\r\n*`");
  std::string line(answer.substr(answer.rfind('\n') + 1));
  std::erase_if(line, [](char letter) { return letter == '*' || letter == '`' || letter == '#'; });
  const std::string_view words = trimmed(line, " \t.");
  if (words == "VERDICT: PASS") return WorkVerdict::pass;
  return words == "VERDICT: FAIL" ? WorkVerdict::fail : WorkVerdict::none;
}

}  // namespace signalbox
