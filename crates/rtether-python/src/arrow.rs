//! Rows as Arrow, which polars, pandas, pyarrow and duckdb read without a copy and without us
//! knowing them.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rtether::report::table::{Table, Value};

/// The name that the Arrow `PyCapsule` interface fixes for streams.
const NAME: &CStr = c"arrow_array_stream";

/// Returns the columns of a table as a stream of one batch. Times are nanoseconds with decimals, as in
/// CSV; their names say so.
///
/// # Errors
/// `ValueError` if a column cannot be expressed; none of ours is such.
pub(crate) fn stream<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = batch(table).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = batch.schema();
    let reader = RecordBatchIterator::new([Ok(batch)], schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), NAME)
}

fn batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let columns = table.values();
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|(name, values)| {
            let array = array(&values);
            (Field::new(name, array.data_type().clone(), true), array)
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// Returns a column in the narrowest type that holds all its values.
fn array(values: &[&Value]) -> ArrayRef {
    let own = values.iter().copied();
    let fits = |is: fn(&Value) -> bool| own.clone().all(|one| *one == Value::None || is(one));
    if fits(|value| matches!(value, Value::Flag(_))) {
        let flags = own.map(|value| match value {
            Value::Flag(flag) => Some(*flag),
            Value::None
            | Value::Text(_)
            | Value::Time(_)
            | Value::Whole(_)
            | Value::Number(_)
            | Value::Json(_) => None,
        });
        return Arc::new(flags.collect::<BooleanArray>());
    }
    if fits(|value| whole(value).is_some()) {
        return Arc::new(own.map(whole).collect::<Int64Array>());
    }
    if fits(|value| number(value).is_some()) {
        return Arc::new(own.map(number).collect::<Float64Array>());
    }
    let texts = own.map(|value| (*value != Value::None).then(|| value.file()));
    Arc::new(texts.collect::<StringArray>())
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Whole(number) => i64::try_from(*number).ok(),
        Value::Json(number) => number.as_i64(),
        Value::None | Value::Text(_) | Value::Time(_) | Value::Number(_) | Value::Flag(_) => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(_) | Value::Json(_) | Value::Time(_) => value.file().parse().ok(),
        Value::Number(number) => Some(*number),
        Value::None | Value::Text(_) | Value::Flag(_) => None,
    }
}
