#include "store/model_store.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

namespace fs = std::filesystem;

class ModelStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/folio-store-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    home_ = folder;
    unsetenv("FOLIO_MODEL");
  }
  void TearDown() override {
    fs::remove_all(home_);
    unsetenv("FOLIO_MODEL");
  }
  std::string Add(const std::string& relative, const std::string& content = "x") {
    const fs::path path = fs::path(home_) / "models" / relative;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path.string();
  }

  std::string home_;
};

TEST_F(ModelStoreTest, AMissingStoreIsEmpty) {
  EXPECT_TRUE(ModelStore(home_ + "/nowhere").List()->empty());
}

TEST_F(ModelStoreTest, ListsModelsByNameAndSplitOnesOnce) {
  Add("b.gguf");
  Add("org/repo/a-00002-of-00002.gguf", "12345");
  const std::string first = Add("org/repo/a-00001-of-00002.gguf", "123");
  Add("half.gguf.part");
  const auto models = ModelStore(home_).List().value();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "b");
  EXPECT_EQ(models[1].name, "org/repo/a");
  EXPECT_EQ(models[1].path, first);
  EXPECT_EQ(models[1].files.size(), 2U);
  EXPECT_EQ(models[1].bytes, 8U);
}

TEST_F(ModelStoreTest, LastComponentsAreEnoughWhereTheyAreUnique) {
  const std::string path = Add("org/repo/a.gguf");
  Add("org/other/b.gguf");
  Add("org/repo/b.gguf");
  const ModelStore store(home_);
  EXPECT_EQ(store.Find("a")->path, path);
  EXPECT_EQ(store.Find("repo/a.gguf")->path, path);
  EXPECT_FALSE(store.Find("po/a").has_value()) << "half a component is no match";
  const auto several = store.Find("b");
  ASSERT_FALSE(several.has_value());
  EXPECT_NE(several.error().Message().find("org/other/b, org/repo/b"), std::string::npos);
}

TEST_F(ModelStoreTest, AnExactNameWinsOverALongerOne) {
  Add("org/repo/a.gguf");
  const std::string path = Add("a.gguf");
  EXPECT_EQ(ModelStore(home_).Find("a")->path, path);
}

TEST_F(ModelStoreTest, RemoveTakesEveryPartAndTheEmptyFolders) {
  Add("org/repo/a-00001-of-00002.gguf");
  Add("org/repo/a-00002-of-00002.gguf");
  Add("org/kept/b.gguf");
  ASSERT_TRUE(ModelStore(home_).Remove("a").has_value());
  EXPECT_FALSE(fs::exists(home_ + "/models/org/repo"));
  EXPECT_TRUE(fs::exists(home_ + "/models/org/kept/b.gguf"));
  EXPECT_FALSE(ModelStore(home_).Remove("a").has_value());
}

TEST_F(ModelStoreTest, RemoveReachesNoFileOutsideTheStore) {
  std::ofstream(home_ + "/precious.gguf") << "x";
  EXPECT_FALSE(ModelStore(home_).Remove("../precious").has_value());
  EXPECT_FALSE(ModelStore(home_).Remove(home_ + "/precious.gguf").has_value());
  EXPECT_TRUE(fs::exists(home_ + "/precious.gguf"));
}

TEST_F(ModelStoreTest, ResolveTakesAPathThenTheStoreThenTheEnvironmentThenTheDefault) {
  const ModelStore store(home_);
  const std::string stored = Add("a.gguf");
  const std::string file = home_ + "/elsewhere.gguf";
  std::ofstream(file) << "x";
  EXPECT_EQ(store.Resolve(file), file);
  EXPECT_EQ(store.Resolve("a"), stored);
  EXPECT_FALSE(store.Resolve("").has_value());
  const std::string default_model = Add("SmolLM2-135M-Instruct.Q4_1.gguf");
  EXPECT_EQ(store.Resolve(""), default_model);
  setenv("FOLIO_MODEL", "a", 1);
  EXPECT_EQ(store.Resolve(""), stored);
  EXPECT_EQ(store.Resolve(file), file);
}

TEST_F(ModelStoreTest, AMissingDefaultSaysHowToGetIt) {
  const auto missing = ModelStore(home_).Resolve("");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::kInput);
  EXPECT_NE(missing.error().Message().find("./run"), std::string::npos);
}

TEST_F(ModelStoreTest, AFoldersPathIsTakenAsItIs) {
  const Result<std::string> path = ModelStore(home_).Resolve(home_);
  ASSERT_TRUE(path.has_value()) << path.error().Message();
  EXPECT_EQ(*path, home_);
}

}  // namespace
}  // namespace folio
