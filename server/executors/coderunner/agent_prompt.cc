#include "server/executors/coderunner/agent_prompt.h"

#include "domain/prompt_template.h"

namespace signalbox {
namespace {

constexpr const char* implement_prompt =
    R"(Reach the goal below in the current directory. Nobody is there to answer questions: where something is open, decide, and say so at the end.

# Goal

{{goal}}
{{input}}{{previous}}
# How

{{strategy}}
Change only what the goal needs. Run the project's own tests for what you touch. Leave the changes in the working tree; they are committed for you.

End with a summary of at most ten lines: what you changed, how you know that it works, what is left open.
)";

constexpr const char* verify_prompt =
    R"(Find out whether the work in the current directory reaches the goal below. Nobody is there to answer questions. Judge it as somebody who did not write it.

# Goal

{{goal}}
{{input}}{{previous}}
# How

{{strategy}}
Look at the changes against the commit that they start from, run the project's own tests, and try what the goal promises. Don't mend anything.

End with a summary of at most ten lines: what you tried and what you saw. The last line is VERDICT: PASS if the goal is reached, and VERDICT: FAIL if it is not.
)";

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
  if (!own.empty()) return fill_prompt(own, values);
  values.input = section("Input", job.input);
  values.previous = section("What happened before", job.previous);
  return fill_prompt(job.definition.name == "verify" ? verify_prompt : implement_prompt, values);
}

}  // namespace signalbox
