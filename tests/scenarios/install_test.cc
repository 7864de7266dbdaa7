// `cmake --install` to a prefix chosen at that moment, and tools/packages on a machine where
// another apt runs.
#include <gtest/gtest.h>

#include <regex>

#include "tests/scenarios/child_process.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class InstallTest : public testing::Test {
 protected:
  // Installs what was built. Returns the prefix.
  fs::path install() {
    const fs::path prefix = place_.path() / "opt";
    const Output installed =
        run_process({"cmake", "--install", fs::path(SIGNALBOX_BINARY).parent_path().string(),
                     "--prefix", prefix.string()});
    EXPECT_EQ(installed.exit_code, 0) << installed.err;
    return prefix;
  }

  // Puts a script into the PATH of packages(), before the machine's programs.
  void set_program(const std::string& name, const std::string& text) const {
    fs::create_directories(programs_);
    std::ofstream(programs_ / name) << "#!/bin/sh\n" << text;
    fs::permissions(programs_ / name, fs::perms::owner_all);
  }
  // Runs tools/packages with these words.
  [[nodiscard]] Output packages(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"sh", std::string(SIGNALBOX_SOURCE_DIR) + "/tools/packages"};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(std::move(words),
                       {"PATH=" + programs_.string() + ":" + std::getenv("PATH")});
  }

  TemporaryDirectory place_;
  fs::path programs_ = place_.path() / "bin";
};

TEST_F(InstallTest, ProgramsAreStrippedAndTheUnitStartsThem) {
  const fs::path prefix = install();
  const fs::path program = prefix / "bin" / "signalbox";
  const Output sections = run_process({"readelf", "--section-headers", "--wide", program.string()});
  EXPECT_NE(sections.out.find(".text"), std::string::npos);
  EXPECT_EQ(sections.out.find(".debug_info"), std::string::npos);
  EXPECT_EQ(run_process({program.string(), "--version"}).exit_code, 0);
  EXPECT_EQ(run_process({(prefix / "bin/signalbox-verify-export").string(), "--help"}).exit_code,
            0);

  const std::string unit = content_of(prefix / "lib/systemd/system/signalbox.service");
  EXPECT_NE(unit.find("\nExecStart=" + program.string() + " serve "), std::string::npos) << unit;
  EXPECT_EQ(unit.find('@'), std::string::npos) << unit;
  EXPECT_NE(unit.find("\nRestartPreventExitStatus=2 78\n"), std::string::npos) << unit;
}

TEST_F(InstallTest, TheManualPageAndTheCompletionsComeWithIt) {  // O6
  const fs::path share = install() / "share";
  const std::string page = content_of(share / "man/man1/signalbox.1");
  EXPECT_TRUE(page.starts_with(".TH SIGNALBOX 1 ")) << page.substr(0, 80);
  for (const char* part : {"\n.SH NAME\n", "\n.SS \"signalbox run list\"\n", "\\-\\-project",
                           "\n.SS \"signalbox lock exec KEY", "Exit codes:"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* script :
       {"bash-completion/completions/signalbox", "zsh/site-functions/_signalbox",
        "fish/vendor_completions.d/signalbox.fish"}) {
    EXPECT_NE(content_of(share / script).find("completion-offers"), std::string::npos) << script;
  }
}

TEST_F(InstallTest, DocumentsLinkToWhatIsInstalled) {
  const fs::path documents = install() / "share/doc/signalbox";
  static const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  std::size_t links = 0;
  for (const auto& entry : fs::recursive_directory_iterator(documents)) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = content_of(entry.path());
    for (std::sregex_iterator each(text.begin(), text.end(), link), end; each != end; ++each) {
      ++links;
      const fs::path target = entry.path().parent_path() / (*each)[1].str();
      EXPECT_TRUE(fs::exists(target)) << entry.path() << " links to " << (*each)[1];
    }
  }
  EXPECT_GE(links, 10U);
}

// A machine that was just started updates itself, so apt finds its locks taken.
TEST_F(InstallTest, PackagesWaitsForAnotherApt) {
  const fs::path calls = place_.path() / "calls";
  set_program("dpkg-query", "exit 1\n");
  set_program("id", "echo 0\n");
  set_program("sleep", "echo sleep >>'" + calls.string() + "'\n");
  set_program("apt-get", "echo \"apt-get $*\" >>'" + calls.string() +
                             "'\n"
                             "[ $(grep -c update '" +
                             calls.string() +
                             "') -ge 3 ] && exit 0\n"
                             "echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by "
                             "process 7 (apt-get)' >&2\nexit 100\n");
  const Output installed = packages();
  EXPECT_EQ(installed.exit_code, 0) << installed.err;
  const std::string called = content_of(calls);
  EXPECT_TRUE(
      called.starts_with("apt-get update -qq\nsleep\napt-get update -qq\nsleep\n"
                         "apt-get update -qq\napt-get -o DPkg::Lock::Timeout="))
      << called;

  set_program("apt-get", "echo 'E: Unable to locate package x' >&2\nexit 100\n");
  const Output failed = packages();
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_NE(failed.err.find("Unable to locate package x"), std::string::npos) << failed.err;
}

// What is installed may be a service that apt starts.
TEST_F(InstallTest, PackagesUnpacksAPackageWithoutInstallingIt) {
  const fs::path there = place_.path() / "build" / "unpacked";
  const std::vector<std::string> unpack{"--unpack", there.string(), "prometheus"};
  set_program("dpkg-query", "exit 1\n");
  set_program("id", "echo 0\n");
  set_program(
      "apt-get",
      "case \"$*\" in *install*) exit 100 ;; *' download prometheus') touch a.deb ;; esac\n");
  set_program("dpkg-deb", "exit 1\n");
  EXPECT_NE(packages(unpack).exit_code, 0);
  EXPECT_FALSE(fs::exists(there)) << "a part of it";

  set_program("dpkg-deb", "touch \"$3/program\"\n");
  const Output unpacked = packages(unpack);
  EXPECT_EQ(unpacked.exit_code, 0) << unpacked.err;
  EXPECT_TRUE(fs::exists(there / "program"));
  EXPECT_FALSE(fs::exists(there / "a.deb"));

  set_program("apt-get", "exit 100\n");
  EXPECT_EQ(packages(unpack).exit_code, 0) << "it is there";
}

}  // namespace
}  // namespace signalbox
