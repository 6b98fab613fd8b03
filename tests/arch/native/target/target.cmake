# The library whose functions the tests of native hooks hook. Its own compiler leaves room at their entries.
enable_language(CXX)
set(target_folder ${CMAKE_CURRENT_LIST_DIR})
add_library(native_target SHARED ${target_folder}/target.c ${target_folder}/target_code.S ${target_folder}/target_throw.cc)
target_include_directories(native_target PUBLIC ${target_folder}/.. ${CMAKE_CURRENT_SOURCE_DIR}/tests/engine
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
set_target_properties(native_target PROPERTIES C_VISIBILITY_PRESET default INTERPROCEDURAL_OPTIMIZATION OFF)
target_compile_options(native_target PRIVATE -O2 -fpatchable-function-entry=5)
target_link_options(native_target PRIVATE LINKER:--build-id)
set_source_files_properties(${target_folder}/target_code.S PROPERTIES LANGUAGE C COMPILE_OPTIONS
    "-xassembler-with-cpp;-Wno-unused-command-line-argument")
