// R5: tampers with exports and proofs of a real log in every way that we could think of. Both
// verifiers find each, with exit code 1 and the file's name.
#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/audit_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* lines_file = "events-000000000001.jsonl";
constexpr const char* digests_file = "events-000000000001.digests";

struct Tampering {
  std::string name;
  std::string where;  // the file that both verifiers have to name
  std::function<void(const fs::path& directory)> apply;
};

void edit(const fs::path& file, const std::function<void(std::string& bytes)>& change) {
  std::string bytes = content_of(file);
  const std::string before = bytes;
  change(bytes);
  ASSERT_NE(bytes, before) << file << " isn't tampered with";
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

Tampering editing(std::string name, std::string file, std::function<void(std::string&)> change) {
  std::string where = file;
  return {std::move(name), std::move(where),
          [file, change](const fs::path& directory) { edit(directory / file, change); }};
}

// Flips a bit of the byte at this many sixteenths of the file.
Tampering flipping(const std::string& file, std::size_t sixteenths, const std::string& where) {
  Tampering tampering = editing("a byte at " + std::to_string(sixteenths) + "/16", file,
                                [sixteenths](std::string& bytes) {
                                  const std::size_t at = (bytes.size() - 1) * sixteenths / 16;
                                  bytes[at] = static_cast<char>(bytes[at] ^ 1);
                                });
  tampering.where = where;
  return tampering;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

Tampering line_editing(std::string name,
                       std::function<void(std::vector<std::string>& lines)> change) {
  return editing(std::move(name), lines_file, [change](std::string& bytes) {
    auto lines = split_lines(bytes);
    change(lines);
    bytes.clear();
    for (const std::string& line : lines) bytes += line;
  });
}

// Changes the first letter of this attribute's value in line 7.
Tampering attribute_editing(const std::string& key) {
  return line_editing("the " + key, [key](std::vector<std::string>& lines) {
    std::string& line = lines.at(6);
    const std::size_t at = line.find("\"" + key + "\":") + key.size() + 3;
    char& letter = line.at(line.at(at) == '"' ? at + 1 : at);
    letter = letter == 'A' || letter == '1' ? 'B' : letter >= '0' && letter <= '9' ? '1' : 'A';
  });
}

void replace_once(std::string& bytes, const std::string& from, const std::string& to) {
  const std::size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  bytes.replace(at, from.size(), to);
}

class TamperingTest : public AuditTest {
 protected:
  // Applies each whose turn it is to a copy of its own.
  void expect_all_found(const std::string& directory, const std::vector<Tampering>& tamperings) {
    for (std::size_t turn = rotation_.first; turn < tamperings.size(); turn += rotation_.stride) {
      const Tampering& tampering = tamperings[turn];
      SCOPED_TRACE(tampering.where + ": " + tampering.name);
      const fs::path copy = at("tampered");
      fs::remove_all(copy);
      fs::copy(directory, copy, fs::copy_options::recursive);
      tampering.apply(copy);
      expect_refused(1, tampering.where, copy.string());
      ++tampered_;
    }
  }

  const FaultRotation rotation_{10};
  std::size_t tampered_ = 0;
};

void add_note_tamperings(std::vector<Tampering>& all) {
  for (const std::string file : {"checkpoint", "manifest"}) {
    for (const std::size_t sixteenths : {0, 3, 6, 9, 12, 15})
      all.push_back(flipping(file, sixteenths, file));
    all.push_back({"deleted", file, [file](const fs::path& in) { fs::remove(in / file); }});
    all.push_back(editing("cut", file, [](std::string& bytes) { bytes.pop_back(); }));
    all.push_back(editing("emptied", file, [](std::string& bytes) { bytes.clear(); }));
    all.push_back(editing("unsigned", file,
                          [](std::string& bytes) { bytes.resize(bytes.rfind("\n\n") + 2); }));
    all.push_back(editing("a line more", file, [](std::string& bytes) {
      bytes.insert(bytes.rfind("\n\n") + 1, "more\n");
    }));
  }
  all.push_back(editing("another size", "checkpoint",
                        [](std::string& bytes) { replace_once(bytes, "\n700\n", "\n699\n"); }));
  all.push_back(editing("another origin", "checkpoint", [](std::string& bytes) {
    replace_once(bytes, "example.com/box\n", "example.com/fox\n");
  }));
  all.push_back(editing("it begins later", "manifest", [](std::string& bytes) {
    replace_once(bytes, "\nfrom 1\n", "\nfrom 2\n");
  }));
  all.push_back(editing("it ends earlier", "manifest", [](std::string& bytes) {
    replace_once(bytes, "\nto 700\n", "\nto 699\n");
  }));
}

TEST_F(TamperingTest, OfCloudEventsIsFound) {  // R5
  append_events(710);
  ASSERT_EQ(export_to("before", {"--to", "650"}).exit_code, 0);
  ASSERT_EQ(export_to("export", {"--to", "700"}).exit_code, 0);
  expect_verified(at("export"));
  make_key("foreign.key");
  ASSERT_EQ(export_to("foreign", {"--to", "700"}, "foreign.key").exit_code, 0);

  std::vector<Tampering> all;
  add_note_tamperings(all);
  for (std::size_t sixteenths = 0; sixteenths <= 16; ++sixteenths) {
    all.push_back(flipping(lines_file, sixteenths, lines_file));
    if (sixteenths % 2 == 0) all.push_back(flipping(digests_file, sixteenths, digests_file));
  }
  for (const char* key :
       {"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "sequence",
        "position", "actor", "typeversion", "leafhash", "recordheader", "recordsalt",
        "recordpayload", "owner", "reason"}) {
    all.push_back(attribute_editing(key));
  }
  all.push_back(line_editing("an attribute less", [](auto& lines) {
    replace_once(lines[9], ",\"datacontenttype\":\"application/json\"", "");
  }));
  all.push_back(line_editing("an attribute more", [](auto& lines) {
    replace_once(lines[9], ",\"id\"", ",\"x\":1,\"id\"");
  }));
  all.push_back(line_editing("an attribute twice", [](auto& lines) {
    replace_once(lines[9], ",\"id\":\"10\"", ",\"id\":\"10\",\"id\":\"10\"");
  }));
  all.push_back(line_editing("a blank", [](auto& lines) { replace_once(lines[9], ":", ": "); }));
  all.push_back(line_editing("no data", [](auto& lines) {
    lines[9].replace(lines[9].find(",\"data\""), std::string::npos, "}\n");
  }));
  all.push_back(line_editing("no JSON", [](auto& lines) { lines[20] = "[1,2]\n"; }));
  all.push_back(line_editing("two swapped", [](auto& lines) { std::swap(lines[40], lines[41]); }));
  all.push_back(
      line_editing("two far ones swapped", [](auto& lines) { std::swap(lines[10], lines[600]); }));
  all.push_back(line_editing("one deleted", [](auto& lines) { lines.erase(lines.begin() + 99); }));
  all.push_back(line_editing("the first deleted", [](auto& lines) { lines.erase(lines.begin()); }));
  all.push_back(line_editing("the last deleted", [](auto& lines) { lines.pop_back(); }));
  all.push_back(
      line_editing("one repeated", [](auto& lines) { lines.insert(lines.begin() + 5, lines[5]); }));
  all.push_back(
      line_editing("the last repeated", [](auto& lines) { lines.push_back(lines.back()); }));
  all.push_back(
      line_editing("one in another's place", [](auto& lines) { lines[300] = lines[301]; }));
  all.push_back(
      line_editing("an empty one", [](auto& lines) { lines.insert(lines.begin() + 7, "\n"); }));
  all.push_back(line_editing("no last line break", [](auto& lines) { lines.back().pop_back(); }));
  all.push_back(line_editing("half a last line", [](auto& lines) { lines.back().resize(100); }));
  all.push_back(line_editing("cut in the middle", [](auto& lines) { lines.resize(350); }));
  all.push_back(line_editing("none left", [](auto& lines) { lines.clear(); }));
  all.push_back({"deleted", lines_file, [](const fs::path& in) { fs::remove(in / lines_file); }});
  all.push_back(
      {"deleted", digests_file, [](const fs::path& in) { fs::remove(in / digests_file); }});
  all.push_back(
      editing("cut", digests_file, [](std::string& bytes) { bytes.resize(bytes.size() - 64); }));
  all.push_back(
      editing("longer", digests_file, [](std::string& bytes) { bytes += bytes.substr(64); }));
  all.push_back(
      {"a line and its digests swapped with others", digests_file, [](const fs::path& in) {
         edit(in / lines_file, [](std::string& bytes) {
           auto lines = split_lines(bytes);
           std::swap(lines[50], lines[51]);
           bytes.clear();
           for (const std::string& line : lines) bytes += line;
         });
         edit(in / digests_file, [](std::string& bytes) {
           std::swap_ranges(bytes.begin() + 50 * 64, bytes.begin() + 51 * 64,
                            bytes.begin() + 51 * 64);
         });
       }});
  all.push_back({"a file more", "events-000000000701.jsonl", [](const fs::path& in) {
                   fs::copy(in / lines_file, in / "events-000000000701.jsonl");
                 }});
  for (const std::string file : {"checkpoint", "manifest"}) {
    for (const std::string from : {"before", "foreign"}) {
      const fs::path other = at(from);
      all.push_back({"that of " + from, from == "before" ? "manifest" : file,
                     [file, other](const fs::path& in) {
                       fs::copy(other / file, in / file, fs::copy_options::overwrite_existing);
                     }});
    }
  }
  expect_all_found(at("export"), all);
  expect_verified(at("export"));
  EXPECT_GE(tampered_, 98 / rotation_.stride);

  // These are valid, but not what the checkpoint says.
  const std::string later = checkpoint("later.checkpoint");
  expect_refused(1, "checkpoint", at("export"), {"--old-checkpoint", later});
  expect_refused(1, "foreign", at("export"), {"--old-checkpoint", at("foreign/checkpoint")});
  expect_refused(1, "checkpoint", at("foreign"));
}

TEST_F(TamperingTest, OfTilesIsFound) {  // R5
  append_events(710);
  const std::vector<std::string> tlog{"--format", "tlog", "--to"};
  ASSERT_EQ(export_to("before", {"--format", "tlog", "--to", "650"}).exit_code, 0);
  ASSERT_EQ(export_to("export", {"--format", "tlog", "--to", "650"}).exit_code, 0);
  ASSERT_EQ(export_to("export", {"--format", "tlog", "--to", "700"}).exit_code, 0);
  expect_verified(at("export"));
  std::vector<Tampering> all;
  add_note_tamperings(all);
  const std::vector<std::string> tiles{
      "tile/0/000",       "tile/0/002.p/188",       "tile/1/000.p/2",   "tile/entries/000",
      "tile/entries/001", "tile/entries/002.p/188", "tile/0/002.p/138", "tile/entries/002.p/138"};
  for (const std::string& tile : tiles) {
    // A flipped hash is reported at its entry, and the other way round.
    const bool leaf = tile.starts_with("tile/0/00") && !tile.ends_with("138");
    for (const std::size_t sixteenths : {0, 6, 11, 16}) {
      all.push_back(flipping(tile, sixteenths, leaf ? tile.substr(5) : tile));
    }
    all.push_back({"deleted", tile, [tile](const fs::path& in) { fs::remove(in / tile); }});
    if (tile.ends_with("138")) all.pop_back();  // no verifier reads it
    all.push_back(editing("cut", tile, [](std::string& bytes) { bytes.pop_back(); }));
    all.push_back(editing("longer", tile, [](std::string& bytes) { bytes += "x"; }));
    all.push_back(editing("emptied", tile, [](std::string& bytes) { bytes.clear(); }));
  }
  all.push_back({"two bundles swapped", "tile/entries/000", [](const fs::path& in) {
                   fs::rename(in / "tile/entries/000", in / "x");
                   fs::rename(in / "tile/entries/001", in / "tile/entries/000");
                   fs::rename(in / "x", in / "tile/entries/001");
                 }});
  all.push_back({"bundles and tiles swapped", "tile/entries/000", [](const fs::path& in) {
                   for (const std::string kind : {"tile/entries/", "tile/0/"}) {
                     fs::rename(in / (kind + "000"), in / "x");
                     fs::rename(in / (kind + "001"), in / (kind + "000"));
                     fs::rename(in / "x", in / (kind + "001"));
                   }
                 }});
  all.push_back(editing("two hashes swapped", "tile/0/001", [](std::string& bytes) {
    std::swap_ranges(bytes.begin(), bytes.begin() + 32, bytes.begin() + 32);
  }));
  for (const std::string more : {"tile/0/003", "tile/2/000.p/1", "tile/0/0", "tile/letter"}) {
    all.push_back({"a file more", more, [more](const fs::path& in) {
                     fs::create_directories((in / more).parent_path());
                     std::ofstream(in / more) << "more";
                   }});
  }
  for (const std::string file : {"checkpoint", "manifest"}) {
    const fs::path other = at("before");
    all.push_back({"that of before", "manifest", [file, other](const fs::path& in) {
                     fs::copy(other / file, in / file, fs::copy_options::overwrite_existing);
                   }});
  }
  expect_all_found(at("export"), all);
  expect_verified(at("export"));
  EXPECT_GE(tampered_, 80 / rotation_.stride);
}

TEST_F(TamperingTest, OfAProofIsFound) {  // R5
  append_events(300);
  const std::string file = at("42.tlog-proof");
  ASSERT_EQ(
      server_.cli({"audit", "prove", "42", "--signing-key", at("audit.key"), "-o", file}).exit_code,
      0);
  const std::string whole = content_of(file);
  const auto refused = [&](const std::string& bytes) {
    write_text(file, bytes);
    expect_refused(1, "42.tlog-proof", file);
  };
  // Starts after the title, which marks the file as a proof.
  const std::size_t step = whole.size() / 29;
  for (std::size_t at = 23 + rotation_.first * step; at < whole.size();
       at += rotation_.stride * step) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 2);
    SCOPED_TRACE(at);
    refused(bytes);
  }
  std::string changed = whole;
  replace_once(changed, "index 41", "index 40");
  refused(changed);
  refused(whole.substr(0, whole.size() / 2));
  write_text(file, whole);
  expect_verified(file);
}

}  // namespace
}  // namespace signalbox
