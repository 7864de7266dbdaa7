// Tests which changed files count as those that decide about checks.
#include "server/executors/check_files.h"

#include <gtest/gtest.h>

#include <map>

#include "server/executors/called_commands.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

using Files = std::vector<std::string>;

Files among(const std::vector<ChangedFile>& changed, const std::vector<std::string>& command = {}) {
  return check_files_among(changed, files_named_by(command));
}

TEST(CheckFiles, InstructionsPolicyAndContinuousIntegrationCountEverywhere) {  // A7
  EXPECT_EQ(among({{"AGENTS.md"},
                   {"web/CLAUDE.md"},
                   {".signalbox.toml"},
                   {"HEARTBEAT.md"},
                   {".github/workflows/ci.yml"},
                   {".gitlab-ci.yml"},
                   {"Jenkinsfile"},
                   {"src/main.cc"},
                   {"docs/AGENTS.md.txt"},
                   {"web/.gitlab-ci.yml"},
                   {".github/ISSUE_TEMPLATE.md"}}),
            (Files{".github/workflows/ci.yml", ".gitlab-ci.yml", ".signalbox.toml", "AGENTS.md",
                   "HEARTBEAT.md", "Jenkinsfile", "web/CLAUDE.md"}));
}

TEST(CheckFiles, ScriptsAreFoundHoweverACommandNamesThem) {  // A7
  const ChangedFile script{"tools/check"};
  for (const Files& command :
       {Files{"tools/check"}, Files{"./tools/check", "--all"},
        Files{"sh", "-c", "cd tools;./check"}, Files{"sh", "-c", "\"$PWD\"/tools/check && echo ok"},
        Files{"sh", "-c", "x=`tools/check`"},
        Files{"sh", "-c", "bash lib/../tools/check|tee out"}}) {
    EXPECT_EQ(among({script}, command), Files{"tools/check"}) << command.back();
  }
  EXPECT_TRUE(among({script}, {"sh", "-c", "tools/checker && ./tool"}).empty());
  EXPECT_TRUE(among({script}, {"true"}).empty());
}

TEST(CheckFiles, FilesOfProgramsCountWhereTheProgramRuns) {  // A7
  EXPECT_EQ(among({{"package.json"}, {"web/package.json"}, {"Makefile"}}, {"npm", "test"}),
            (Files{"package.json", "web/package.json"}));
  EXPECT_EQ(among({{"package.json"}, {"Makefile"}}, {"sh", "-c", "/usr/bin/make check"}),
            Files{"Makefile"});
}

TEST(CheckFiles, DataThatACheckLooksAtIsNoScript) {  // A7
  const Files command{"sh", "-c", "grep -q hello hello.txt && python3 test.py data.json"};
  EXPECT_EQ(among({{"hello.txt"}, {"test.py"}, {"data.json"}}, command), Files{"test.py"});
  EXPECT_EQ(among({{"hello.txt", /*executable=*/true}}, command), Files{"hello.txt"});
  EXPECT_EQ(check_files_among({{"ci/checks.toml"}}, {instructions_name("./ci/checks.toml")}),
            Files{"ci/checks.toml"});
}

TEST(CheckFiles, WhatAgentsHooksAndGitReadCountsEverywhere) {  // A7
  for (const char* path :
       {".claude/settings.json", "web/.claude/hooks/stop.sh", ".mcp.json", "AGENTS.override.md",
        "CLAUDE.local.md", "GEMINI.md", ".codex/config.toml", ".cursor/rules/a.mdc",
        ".githooks/pre-push", ".husky/pre-commit", "web/.husky/pre-commit", "lefthook.yml",
        ".pre-commit-config.yaml", ".gitattributes", "src/.gitattributes", ".lfsconfig",
        ".gitmodules", ".envrc", ".devcontainer/devcontainer.json"}) {
    EXPECT_EQ(among({{path}}), Files{path});
  }
  for (const char* path : {"claude/settings.json", "mcp.json", "githooks", ".gitignore",
                           "src/claude.md.cc", ".claude.md"}) {
    EXPECT_TRUE(among({{path}}).empty()) << path;
  }
}

TEST(CheckFiles, ADirectoryThatACommandRunsCoversItsScripts) {  // A7
  const std::vector<ChangedFile> changed{
      {"ci/10-lint.sh"},     {"ci/deep/check"}, {"ci/data.json"}, {"ci/README.md"},
      {"ci/tool.bin", true}, {"cin/a.sh"},      {"web/ci/a.py"},  {"a.sh"}};
  const Files covered{"ci/10-lint.sh", "ci/deep/check", "ci/tool.bin", "web/ci/a.py"};
  for (const Files& command :
       {Files{"run-parts", "ci"}, Files{"pytest", "./ci/"},
        Files{"sh", "-c", "for each in ci/*; do sh \"$each\"; done"},
        Files{"bash", "-eu", "-c", "find ci -type f | xargs -n1 sh"},
        Files{"python3", "-m", "pytest", "ci"}, Files{"node", "--test", "ci"}}) {
    EXPECT_EQ(among(changed, command), covered) << command.back();
  }
  for (const Files& command : {Files{"ruff", "format", "ci/"}, Files{"sh", "-c", "grep -r x ci"},
                               Files{"bash", "-c", "mypy ci"}}) {
    EXPECT_TRUE(among(changed, command).empty()) << "it only reads them: " << command.back();
  }
}

TEST(CheckFiles, APartOfACommandRunsOnlyItsOwnDirectories) {  // A7
  EXPECT_EQ(among({{"src/a.js"}, {"test/a.js"}}, {"sh", "-c", "eslint src && mocha test"}),
            Files{"test/a.js"});
}

// A recipe names the sources that it compiles as well: they aren't scripts.
TEST(CheckFiles, OfWhatAFileCallsOnlyScriptsCount) {  // A7
  const auto named = scripts_named_by("c++ main.cc -o app && ./ci/lint.sh && sh ci/all.txt");
  EXPECT_EQ(check_files_among({{"main.cc"}, {"ci/lint.sh"}, {"ci/all.txt"}}, named),
            (Files{"ci/all.txt", "ci/lint.sh"}));
  EXPECT_TRUE(is_word_of(named, "app"));
  EXPECT_TRUE(is_run_by(named, "ci/lint.sh"));
  EXPECT_FALSE(is_run_by(named, "main.cc"));
}

TEST(CheckFiles, CommandsAreFoundInTheFilesThatHaveThem) {  // A7
  const auto named = files_named_by({"sh", "-c", "make check; npm run lint"});
  EXPECT_EQ(commands_in("Makefile",
                        "CC := gcc\n.PHONY: check\nall: app\n\tgcc x.c\n\n"
                        "check clean: build | out\n\t@./ci/check.sh\n\t-rm x\nrelease:\n\t./no\n",
                        named),
            (Files{" build | out", "./ci/check.sh", "rm x"}));
  EXPECT_EQ(
      commands_in("web/Makefile", "# nothing: named\nall: app\n\t./all\nrest:\n\t./rest\n", named),
      (Files{" app", "./all"}));
  EXPECT_EQ(commands_in("package.json",
                        R"({"scripts":{"lint":"node a.js","prelint":"node b.js","start":"node c.js",
                            "postlint":7}})",
                        named),
            (Files{"node a.js", "node b.js"}));
  EXPECT_EQ(
      commands_in("Makefile", "check: a\n-include ci/one $(two)\n\t./no\nsinclude x.y\n", named),
      (Files{" a", ". ci/one", ". $(two)", ". x.y"}));
  EXPECT_EQ(commands_in("ci/env.txt", "\t@./a\n", files_named_by({"sh", "ci/env.txt"})),
            Files{"./a"});
  EXPECT_TRUE(commands_in("ci/env.txt", "./a\n", named).empty());
  EXPECT_TRUE(commands_in("package.json", "{", named).empty());
  EXPECT_EQ(commands_in("check", "#!/usr/bin/env bash\n# all\n\n  ./a &&\n./b\n", named),
            (Files{"./a &&", "./b"}));
  EXPECT_TRUE(commands_in("check", "#!/usr/bin/python3\nimport a\n", named).empty());
  EXPECT_TRUE(commands_in("check",
                          std::string("\x7f"
                                      "ELF\0./a\n",
                                      9),
                          named)
                  .empty());
  EXPECT_TRUE(may_have_commands("ci/all.bash"));
  EXPECT_FALSE(may_have_commands("ci/all.py"));
}

TEST(CheckFiles, AFileThatIsRunCountsWhateverItsName) {  // A7
  EXPECT_EQ(among({{"checks.txt"}, {"list.txt"}}, {"sh", "-c", "sh -e checks.txt list.txt"}),
            Files{"checks.txt"});
  EXPECT_EQ(among({{"ci/env.md"}}, {"bash", "ci/env.md"}), Files{"ci/env.md"});
  EXPECT_EQ(among({{"ci/env.md"}}, {"sh", "-c", "cd ci && . ./env.md"}), Files{"ci/env.md"});
  // Kinds that no list of scripts has.
  EXPECT_EQ(among({{"ci/rules.toml"}, {"test.cc"}, {"image.png"}},
                  {"sh", "-c", "lint --config=ci/rules.toml && c++ test.cc && file image.png"}),
            (Files{"ci/rules.toml", "test.cc"}));
}

TEST(CheckFiles, WhatAnInterpreterFindsForANameCounts) {  // A7
  EXPECT_EQ(among({{"pytest.py"}, {"pytest/__main__.py"}, {"test.py"}},
                  {"python3", "-m", "pytest", "test"}),
            (Files{"pytest.py", "pytest/__main__.py"}));
  EXPECT_EQ(among({{"tools/lint.py"}, {"tools/__init__.py"}, {"lint.py"}},
                  {"sh", "-c", "python3 -B -m tools.lint src"}),
            (Files{"tools/__init__.py", "tools/lint.py"}));
  EXPECT_EQ(among({{"ci/all.js"}, {"ci/all/index.js"}, {"ci/all.md"}}, {"node", "ci/all"}),
            (Files{"ci/all.js", "ci/all/index.js"}));
  EXPECT_EQ(among({{"ci/__main__.py"}, {"src/a.py"}}, {"python3", "ci"}), Files{"ci/__main__.py"});
}

TEST(CheckFiles, ANameBesideAVariableIsFound) {  // A7
  for (const char* command : {"$here/lint.sh", "sh \"$1/ci/lint.sh\"", "${here}/lint.sh"}) {
    EXPECT_EQ(among({{"ci/lint.sh"}}, {"sh", "-c", command}), Files{"ci/lint.sh"}) << command;
  }
}

TEST(CheckFiles, ProgramsReadMoreThanOneFile) {  // A7
  EXPECT_EQ(among({{"conftest.py"}, {"web/conftest.py"}, {"pyproject.toml"}, {"main.py"}},
                  {"pytest", "-q"}),
            (Files{"conftest.py", "pyproject.toml", "web/conftest.py"}));
  EXPECT_EQ(among({{"rules.mk"}, {"Cargo.toml"}}, {"sh", "-c", "make -j2 test"}),
            Files{"rules.mk"});
  EXPECT_EQ(among({{"jest.config.cjs"}, {"eslint.config.mjs"}, {".eslintrc.json"}},
                  {"sh", "-c", "npx jest; npx eslint ."}),
            (Files{".eslintrc.json", "eslint.config.mjs", "jest.config.cjs"}));
}

TEST(CheckFiles, ALinkAndWhatItLeadsToBothCount) {  // A7
  const std::map<std::string, std::string> targets{{"check", "tools/real.sh"},
                                                   {"tools/real.sh", "../lib/last.py"},
                                                   {"ci", "tools/ci"},
                                                   {"out", "../outside"},
                                                   {"etc", "/etc"},
                                                   {"loop", "loop"}};
  std::vector<TreeLink> links;
  for (const auto& [path, target] : targets) links.push_back({path, target});
  std::set<std::string> named =
      files_named_by({"sh", "-c", "./check && ci/lint && out/a && etc/b && loop/c"});
  int reads = 0;
  add_targets_of_links(
      links,
      [&](const TreeLink& link) {
        ++reads;
        return link.object;
      },
      named);
  EXPECT_EQ(check_files_among({{"check", true},
                               {"tools/real.sh", true},
                               {"lib/last.py"},
                               {"tools/ci/lint"},
                               {"tools/other.sh"}},
                              named),
            (Files{"check", "lib/last.py", "tools/ci/lint", "tools/real.sh"}));
  EXPECT_LT(reads, 100);
  std::set<std::string> others = files_named_by({"true"});
  add_targets_of_links(
      links,
      [](const TreeLink& link) {
        ADD_FAILURE() << link.path;
        return std::string();
      },
      others);
}

TEST(CheckFiles, APlaceCountsIfSomethingBelowItIsNamed) {  // A7
  const ChangedFile link{"web/ci", true};
  const ChangedFile submodule{"web/ci", false, true};
  for (const ChangedFile& place : {link, submodule}) {
    for (const char* command : {"web/ci/lint", "cd web && ./ci/deep/lint", "cd web/ci && ./lint",
                                "run-parts web/ci", "run-parts web", ". ci/env.txt"}) {
      EXPECT_EQ(among({place}, {"sh", "-c", command}), Files{"web/ci"}) << command;
    }
    EXPECT_TRUE(among({place}, {"sh", "-c", "./cid/lint && grep -r x docs"}).empty());
    EXPECT_EQ(possible_check_files_among({place}), Files{"web/ci"});
  }
  EXPECT_EQ(names_below({"/ci/all.txt", "ci/", "ci/lint?", "cid/lint"}, "web/ci"),
            (Files{"", "lint", "all.txt"}));
  EXPECT_EQ(among({submodule}, {"make"}), Files{"web/ci"}) << "it may have an included file";
  EXPECT_TRUE(among({link}, {"make"}).empty());
  EXPECT_TRUE(among({{"web/ci"}}, {"web/ci/lint"}).empty()) << "a file has nothing below it";
}

TEST(CheckFiles, TheDirectoryOfGitsHooksIsNamedByItsConfiguration) {  // A7
  const auto named = hook_directories(
      {"core.hookspath\n./hooks/git/", "core.sshcommand\nssh", "core.hookspath\n/elsewhere"});
  EXPECT_EQ(
      check_files_among({{"hooks/git/pre-push"}, {"hooks/notes.md"}, {"elsewhere/a.sh"}}, named),
      Files{"hooks/git/pre-push"});
}

TEST(CheckFiles, IfNobodyKnowsTheChecksEveryScriptCounts) {  // A7
  EXPECT_EQ(possible_check_files_among({{"check"},
                                        {"a/b.py"},
                                        {"Makefile"},
                                        {"package.json"},
                                        {"AGENTS.md"},
                                        {"main.cc"},
                                        {"notes.md"},
                                        {"blob", true}}),
            (Files{"AGENTS.md", "Makefile", "a/b.py", "blob", "check", "package.json"}));
}

TEST(CheckFiles, IfTheChecksCallMoreThanIsKnownEveryScriptCountsAsWell) {  // A7
  std::set<std::string> named = files_named_by({"sh", "checks.txt"});
  const std::vector<ChangedFile> changed{
      {"a/b.py"}, {"checks.txt"}, {"lib", false, true}, {"main.cc"}};
  EXPECT_EQ(check_files_among(changed, named), Files{"checks.txt"});
  named.insert(unknown_calls_name);
  EXPECT_EQ(check_files_among(changed, named), (Files{"a/b.py", "checks.txt", "lib"}));
}

TEST(CheckFiles, ARawDiffIsParsedWhateverItsPathsAre) {  // A7
  using namespace std::string_literals;
  const auto files = parse_raw_diff(
      ":100644 100755 11 22 M\0check.sh\0:000000 100644 00 22 A\0a\nb \x1b[2J\0"
      ":100755 000000 11 00 D\0gone\0:100644"s);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].path, "check.sh");
  EXPECT_TRUE(files[0].executable);
  EXPECT_EQ(files[1].path, "a\nb \x1b[2J");
  EXPECT_FALSE(files[1].executable);
  EXPECT_TRUE(files[2].executable) << "it was before the change";
  const auto link = parse_raw_diff(":100644 120000 11 22 T\0notes.txt\0"s);
  ASSERT_EQ(link.size(), 1U);
  EXPECT_TRUE(link.front().executable) << "it may lead to anything";
  for (const char* modes : {":160000 160000", ":000000 160000", ":160000 100644"}) {
    const auto submodule = parse_raw_diff(modes + " 11 22 M\0lib\0"s);
    ASSERT_EQ(submodule.size(), 1U);
    EXPECT_TRUE(submodule.front().submodule) << modes;
    EXPECT_FALSE(submodule.front().executable) << modes;
  }
  EXPECT_TRUE(parse_raw_diff("").empty());
}

TEST(CheckFiles, DirectoriesOfARawDiffAreNoFiles) {  // A7
  using namespace std::string_literals;
  const std::string before(40, '1');
  const std::string after(40, '2');
  const std::string none(40, '0');
  const std::string diff = ":040000 040000 " + before + " " + after + " M\0tools\0"s +
                           ":100644 100644 " + before + " " + after + " M\0tools/a\0"s +
                           ":000000 040000 " + none + " " + after + " A\0new\0"s;
  const auto files = parse_raw_diff(diff);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files.front().path, "tools/a");
  EXPECT_EQ(changed_trees_of(diff), (Files{before, after, after}));
  EXPECT_TRUE(changed_trees_of("").empty());
}

TEST(CheckFiles, NamesAreShownBoundedAndPrintable) {  // A7
  EXPECT_EQ(shown_check_files({"a"}), "a");
  EXPECT_EQ(shown_check_files({"a", "b"}), "a and b");
  EXPECT_EQ(shown_check_files({"a", "b", "c"}), "a, b and c");
  Files many;
  for (int number = 0; number < 40; ++number) {
    many.push_back("directory\n\x1b/" + std::string(500, 'x') + std::to_string(number));
  }
  EXPECT_EQ(listed_check_files(many).size(), changed_files_shown_max);
  const std::string text = shown_check_files(many);
  EXPECT_TRUE(text.ends_with(" and " + std::to_string(40 - changed_files_shown_max) + " more"));
  EXPECT_LT(text.size(), 1100U);
  EXPECT_EQ(text.find_first_of("\n\x1b"), std::string::npos);
}

TEST(CheckFiles, NamesAreRememberedForTheRun) {  // A7
  const TemporaryDirectory directory;
  EXPECT_TRUE(remembered_named_files(directory.path()).value().empty());
  ASSERT_TRUE(remember_named_files(directory.path(), {"b", "a"}));
  ASSERT_TRUE(remember_named_files(directory.path(), {"c"}));
  EXPECT_EQ(remembered_named_files(directory.path()).value(),
            (std::set<std::string>{"a", "b", "c"}));
}

// What couldn't be read again would keep the run's change from being judged.
TEST(CheckFiles, OnlySoManyNamesAreRemembered) {  // A7, P8
  const TemporaryDirectory directory;
  const std::string name(named_files_bytes_max - 1, 'x');  // and the byte after each
  ASSERT_TRUE(remember_named_files(directory.path(), {name}));
  EXPECT_EQ(remembered_named_files(directory.path()).value(), std::set<std::string>{name});
  const auto refused = remember_named_files(directory.path(), {""});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("call fewer scripts"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(remembered_named_files(directory.path()).value().size(), 1U);
}

TEST(CheckFiles, OfALongNameTheEndIsShown) {  // A7, P8
  constexpr std::size_t bytes = changed_file_shown_bytes_max;
  EXPECT_EQ(listed_check_files({std::string(bytes, 'x'), "a" + std::string(bytes, 'x')}),
            (Files{std::string(bytes, 'x'), "…" + std::string(bytes, 'x')}));
}

}  // namespace
}  // namespace signalbox
