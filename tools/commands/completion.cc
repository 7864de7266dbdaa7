// `signalbox completion`: prints completion scripts. What they offer comes from the program itself
// (completion_offers.h), so that a script doesn't grow old.
#include <memory>

#include "tools/cli/commands.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr const char* bash_completion =
    R"(# Completion of signalbox for bash. To use it:  source <(signalbox completion bash)
_signalbox() {
  local -a offers
  mapfile -t offers < <("${COMP_WORDS[0]}" completion-offers "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)
  COMPREPLY=()
  if [ "${offers[0]}" = :files ]; then
    compopt -o default 2>/dev/null
    return
  fi
  COMPREPLY=("${offers[@]%%$'\t'*}")
}
complete -F _signalbox signalbox
)";

constexpr const char* zsh_completion = R"(#compdef signalbox
# Completion of signalbox for zsh. To use it:  source <(signalbox completion zsh)
_signalbox() {
  local -a offers described
  local offer
  offers=("${(@f)$("${words[1]}" completion-offers $((CURRENT - 1)) "${words[@]}" 2>/dev/null)}")
  if [[ "${offers[1]}" == ":files" ]]; then
    _files
    return
  fi
  for offer in "${offers[@]}"; do
    [[ -z "$offer" ]] && continue
    described+=("${${offer%%$'\t'*}//:/\\:}:${offer#*$'\t'}")
  done
  _describe -V signalbox described
}
if [[ "${funcstack[1]}" == _signalbox ]]; then
  _signalbox "$@"
else
  compdef _signalbox signalbox
fi
)";

constexpr const char* fish_completion =
    R"(# Completion of signalbox for fish. To use it:  signalbox completion fish | source
function __signalbox_offers
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l offers ($before[1] completion-offers (count $before) $before "$current" 2>/dev/null)
    if test "$offers[1]" = ":files"
        __fish_complete_path "$current"
        return
    end
    printf '%s\n' $offers
end
complete -c signalbox -f -a '(__signalbox_offers)'
)";

std::string script_for(const std::string& shell) {
  if (shell == "zsh") return zsh_completion;
  return shell == "fish" ? fish_completion : bash_completion;
}

}  // namespace

void add_completion_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("completion", "Print a completion script for the shell");
  // The parser writes to it, so that it must live as long as the command.
  const auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "The shell").required().one_of({"bash", "zsh", "fish"});
  command.footer(
      "Offers commands, options and values; ids of runs and cards, projects, loops and\n"
      "locks come from the server, if it answers at once.\n\n"
      "Examples:\n"
      "  source <(signalbox completion bash)\n"
      "  signalbox completion zsh > \"${fpath[1]}/_signalbox\"\n"
      "  signalbox completion fish > ~/.config/fish/completions/signalbox.fish");
  command.action([shell, &invocation] {
    return answer(invocation, json::object{{"script", script_for(*shell)}},
                  [shell](const json::object&, const Terminal&) { return script_for(*shell); });
  });
}

}  // namespace signalbox
