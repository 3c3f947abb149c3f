//! Results for people and programs: table, JSON, CSV and one self-contained HTML page.
