#include "server/executors/deciding_files.h"

#include <algorithm>
#include <array>

namespace signalbox {
namespace {

// In any directory.
constexpr std::array<std::string_view, 24> names_anywhere = {
    ".signalbox.toml", "HEARTBEAT.md",
    // instructions and settings of agents
    "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".mcp.json",
    ".cursorrules", ".clinerules", ".windsurfrules", ".aider.conf.yml",
    // git: filters, merges, remote stores, submodules
    ".gitattributes", ".lfsconfig", ".gitmodules",
    // hooks
    ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "lefthook.yml",
    "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".overcommit.yml",
    // programs set up for a directory
    ".envrc"};
// In any directory: all that these directories hold.
constexpr std::array<std::string_view, 9> directories_anywhere = {
    ".claude",   ".codex",     ".cursor",   ".gemini",      ".husky",
    ".githooks", ".git-hooks", ".lefthook", ".devcontainer"};
// CI services read these files at the top of a repository.
constexpr std::array<std::string_view, 15> paths_of_ci = {
    ".gitlab-ci.yml", ".travis.yml",         ".drone.yml",
    ".cirrus.yml",    ".woodpecker.yml",     ".appveyor.yml",
    "appveyor.yml",   "azure-pipelines.yml", "Jenkinsfile",
    "wercker.yml",    "cloudbuild.yaml",     "bitbucket-pipelines.yml",
    ".semaphore.yml", ".build.yml",          ".github/copilot-instructions.md"};
// Directories at the top of a repository, of which every file counts.
constexpr std::array<std::string_view, 15> directories_of_ci = {
    ".github/workflows/", ".github/actions/",    ".gitlab/",          ".circleci/",
    ".buildkite/",        ".woodpecker/",        ".drone/",           ".gitea/workflows/",
    ".gitea/actions/",    ".forgejo/workflows/", ".forgejo/actions/", ".semaphore/",
    ".azure-pipelines/",  ".teamcity/",          ".builds/"};

struct ProgramFile {
  std::string_view program;
  // The file's name in any directory; it may begin or end with a `*` for any text.
  std::string_view file;
};
constexpr ProgramFile program_files[] = {
    {"make", "Makefile"},
    {"make", "makefile"},
    {"make", "GNUmakefile"},
    {"make", "*.mk"},
    {"gmake", "Makefile"},
    {"gmake", "makefile"},
    {"gmake", "GNUmakefile"},
    {"gmake", "*.mk"},
    {"cmake", "CMakeLists.txt"},
    {"cmake", "CMakePresets.json"},
    {"cmake", "*.cmake"},
    {"ctest", "CMakeLists.txt"},
    {"ctest", "CMakePresets.json"},
    {"ctest", "*.cmake"},
    {"meson", "meson.build"},
    {"bazel", "BUILD"},
    {"bazel", "*.bazel"},
    {"bazel", "*.bzl"},
    {"bazel", ".bazelrc"},
    {"npm", "package.json"},
    {"npm", ".npmrc"},
    {"npx", "package.json"},
    {"npx", ".npmrc"},
    {"pnpm", "package.json"},
    {"pnpm", ".npmrc"},
    {"pnpm", ".pnpmfile.cjs"},
    {"yarn", "package.json"},
    {"yarn", ".yarnrc*"},
    {"bun", "package.json"},
    {"bun", "bunfig.toml"},
    {"deno", "deno.json"},
    {"deno", "deno.jsonc"},
    {"jest", "package.json"},
    {"jest", "jest.config*"},
    {"vitest", "vitest.config*"},
    {"vitest", "vite.config*"},
    {"mocha", ".mocharc*"},
    {"playwright", "playwright.config*"},
    {"tsc", "tsconfig*"},
    {"eslint", "eslint.config*"},
    {"eslint", ".eslintrc*"},
    {"eslint", ".eslintignore"},
    {"prettier", ".prettierrc*"},
    {"prettier", ".prettierignore"},
    {"biome", "biome.json*"},
    {"just", "justfile"},
    {"just", "Justfile"},
    {"just", ".justfile"},
    {"task", "Taskfile*"},
    {"tox", "tox.ini"},
    {"tox", "setup.cfg"},
    {"tox", "pyproject.toml"},
    {"nox", "noxfile.py"},
    {"pytest", "conftest.py"},
    {"pytest", "pytest.ini"},
    {"pytest", ".pytest.ini"},
    {"pytest", "pyproject.toml"},
    {"pytest", "setup.cfg"},
    {"pytest", "tox.ini"},
    {"ruff", "ruff.toml"},
    {"ruff", ".ruff.toml"},
    {"ruff", "pyproject.toml"},
    {"mypy", "mypy.ini"},
    {"mypy", ".mypy.ini"},
    {"mypy", "pyproject.toml"},
    {"mypy", "setup.cfg"},
    {"pyright", "pyrightconfig.json"},
    {"pyright", "pyproject.toml"},
    {"flake8", ".flake8"},
    {"flake8", "setup.cfg"},
    {"flake8", "tox.ini"},
    {"pylint", "*pylintrc"},
    {"pylint", "pyproject.toml"},
    {"poetry", "pyproject.toml"},
    {"uv", "pyproject.toml"},
    {"hatch", "pyproject.toml"},
    {"pdm", "pyproject.toml"},
    {"rake", "Rakefile"},
    {"rake", "*.rake"},
    {"bundle", "Gemfile"},
    {"rspec", ".rspec"},
    {"rspec", "spec_helper.rb"},
    {"rubocop", ".rubocop*"},
    {"invoke", "tasks.py"},
    {"composer", "composer.json"},
    {"phpunit", "phpunit.xml*"},
    {"phpstan", "phpstan.neon*"},
    {"ant", "build.xml"},
    {"mvn", "pom.xml"},
    {"mvnw", "pom.xml"},
    {"gradle", "*.gradle"},
    {"gradle", "*.gradle.kts"},
    {"gradle", "gradle.properties"},
    {"gradlew", "*.gradle"},
    {"gradlew", "*.gradle.kts"},
    {"gradlew", "gradle.properties"},
    {"gradlew", "gradle-wrapper.*"},
    {"sbt", "*.sbt"},
    {"cargo", "Cargo.toml"},
    {"cargo", "build.rs"},
    {"cargo", "clippy.toml"},
    {"cargo", "rust-toolchain*"},
    {"go", "go.mod"},
    {"golangci-lint", ".golangci*"},
    {"mix", "mix.exs"},
    {"zig", "build.zig"},
    {"swift", "Package.swift"},
    {"dotnet", "*.csproj"},
    {"dotnet", "Directory.Build.*"},
    {"nix", "*.nix"},
    {"docker", "Dockerfile*"},
    {"docker", "*compose.yml"},
    {"docker", "*compose.yaml"},
    {"docker-compose", "*compose.yml"},
    {"docker-compose", "*compose.yaml"},
    {"clang-tidy", ".clang-tidy"},
    {"clang-format", ".clang-format"},
    {"shellcheck", ".shellcheckrc"},
    {"pre-commit", ".pre-commit-config.yaml"},
};

constexpr std::array<std::string_view, 6> shells = {"sh", "bash", "dash", "zsh", "ksh", "fish"};
constexpr std::array<std::string_view, 10> interpreters = {
    "source", ".", "python", "python3", "node", "ruby", "perl", "php", "lua", "Rscript"};
constexpr std::array<std::string_view, 20> directory_runners = {
    "run-parts", "xargs",  "find",  "parallel", "pytest", "py.test",   "unittest",
    "nose2",     "bats",   "prove", "jest",     "vitest", "mocha",     "ava",
    "tap",       "--test", "rspec", "phpunit",  "busted", "playwright"};

constexpr std::array<std::string_view, 44> script_extensions = {
    ".sh",     ".bash", ".zsh", ".fish", ".ksh",   ".nu",     ".bats", ".py",   ".pyw",
    ".rb",     ".rake", ".pl",  ".pm",   ".t",     ".js",     ".mjs",  ".cjs",  ".jsx",
    ".ts",     ".mts",  ".cts", ".tsx",  ".php",   ".lua",    ".ps1",  ".psm1", ".bat",
    ".cmd",    ".awk",  ".sed", ".jq",   ".tcl",   ".R",      ".r",    ".jl",   ".exs",
    ".groovy", ".kts",  ".m4",  ".mk",   ".cmake", ".gradle", ".bzl",  ".nix"};
constexpr std::array<std::string_view, 25> data_extensions = {
    ".txt",  ".md",       ".rst",    ".adoc", ".csv",  ".tsv",  ".json", ".jsonl", ".xml",
    ".html", ".css",      ".svg",    ".png",  ".jpg",  ".jpeg", ".gif",  ".pdf",   ".log",
    ".out",  ".expected", ".golden", ".snap", ".lock", ".gz",   ".bin"};

template <class Names>
bool is_listed(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view name_of_path(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Returns ".sh" for "tools/check.sh"; empty for "check" and ".envrc".
std::string_view extension_of(std::string_view path) {
  const std::string_view name = name_of_path(path);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view{} : name.substr(dot);
}

bool is_in_directory_anywhere(std::string_view path) {
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/')) {
    if (is_listed(directories_anywhere, path.substr(0, slash))) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

bool fits_pattern(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

}  // namespace

bool decides_everywhere(std::string_view path) {
  return is_listed(names_anywhere, name_of_path(path)) || is_in_directory_anywhere(path) ||
         is_listed(paths_of_ci, path) ||
         std::any_of(directories_of_ci.begin(), directories_of_ci.end(),
                     [path](std::string_view directory) { return path.starts_with(directory); });
}

bool is_known_program(std::string_view program) {
  return std::any_of(std::begin(program_files), std::end(program_files),
                     [program](const ProgramFile& each) { return each.program == program; });
}

bool is_file_of_program(std::string_view program, std::string_view path) {
  const std::string_view name = name_of_path(path);
  return std::any_of(
      std::begin(program_files), std::end(program_files), [program, name](const ProgramFile& each) {
        return (program.empty() || each.program == program) && fits_pattern(each.file, name);
      });
}

bool runs_directories(std::string_view program) {
  return is_listed(shells, program) || is_listed(directory_runners, program);
}

bool is_shell(std::string_view program) { return is_listed(shells, program); }

bool runs_files(std::string_view program) {
  return is_listed(shells, program) || is_listed(interpreters, program);
}

bool has_name_of_script(std::string_view path) {
  const std::string_view extension = extension_of(path);
  return extension.empty() || is_listed(script_extensions, extension);
}

bool has_name_of_shell_script(std::string_view path) {
  const std::string_view extension = extension_of(path);
  return extension.empty() || is_listed(shells, extension.substr(1));
}

bool has_name_of_data(std::string_view path) {
  return is_listed(data_extensions, extension_of(path));
}

}  // namespace signalbox
