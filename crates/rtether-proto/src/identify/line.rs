//! Least squares with up to three columns.

use alloc::vec::Vec;

use super::figure::count;

/// Columns of a fit: a constant and two sizes.
pub(super) const COLUMNS: usize = 3;

/// One row: its columns, and what is to be explained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub x: [f64; COLUMNS],
    pub y: f64,
}

/// A fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub slope: [f64; COLUMNS],
    /// Covariance of the slopes.
    pub covariance: [[f64; COLUMNS]; COLUMNS],
}

impl Line {
    /// Fits the columns that are not zero throughout; the slopes of the others are zero. `None` if
    /// columns depend on each other or there are too few rows.
    pub(super) fn fit(points: &[Point]) -> Option<Self> {
        let mut normal = [[0.0; COLUMNS]; COLUMNS];
        let mut right = [0.0; COLUMNS];
        for Point { x, y } in points {
            for row in 0..COLUMNS {
                right[row] += x[row] * y;
                for column in 0..COLUMNS {
                    normal[row][column] += x[row] * x[column];
                }
            }
        }
        let used = (0..COLUMNS).filter(|&column| normal[column][column] > 0.0);
        let used: Vec<usize> = used.collect();
        let inverse = invert(normal, &used)?;
        let mut slope = [0.0; COLUMNS];
        for &row in &used {
            slope[row] = used.iter().map(|&column| inverse[row][column] * right[column]).sum();
        }
        let free = points.len().checked_sub(used.len()).filter(|&free| free > 0)?;
        let mut own = Self { slope, covariance: inverse };
        // White's estimator: rows may differ in variance, as sums of more or fewer jitters do.
        let mut squares = [[0.0; COLUMNS]; COLUMNS];
        for point in points {
            let residual = own.residual(point);
            for (row, x) in squares.iter_mut().zip(point.x) {
                for (cell, other) in row.iter_mut().zip(point.x) {
                    *cell += residual * residual * x * other;
                }
            }
        }
        let scale = count(points.len()) / count(free);
        own.covariance =
            multiply(&multiply(&inverse, &squares), &inverse).map(|row| row.map(|own| own * scale));
        Some(own)
    }

    /// Returns what a row has above the fit.
    pub(super) fn residual(&self, point: &Point) -> f64 {
        point.y - product(&self.slope, &point.x)
    }

    /// Returns the variance of the fit where the columns are these.
    pub(super) fn variance(&self, x: &[f64; COLUMNS]) -> f64 {
        product(&self.covariance.map(|row| product(&row, x)), x)
    }
}

fn product(a: &[f64; COLUMNS], b: &[f64; COLUMNS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn multiply(
    a: &[[f64; COLUMNS]; COLUMNS],
    b: &[[f64; COLUMNS]; COLUMNS],
) -> [[f64; COLUMNS]; COLUMNS] {
    // The second is symmetric, as are all here, so that its rows are its columns.
    a.map(|row| [0, 1, 2].map(|column| product(&row, &b[column])))
}

/// Inverts the rows and columns that are used, by elimination.
fn invert(
    mut matrix: [[f64; COLUMNS]; COLUMNS],
    used: &[usize],
) -> Option<[[f64; COLUMNS]; COLUMNS]> {
    let mut inverse = [[0.0; COLUMNS]; COLUMNS];
    let scale = matrix;
    for &row in used {
        inverse[row][row] = 1.0;
    }
    for &pivot in used {
        let head = matrix[pivot][pivot];
        // What rounding leaves of a column that others determine.
        if head < scale[pivot][pivot] * 1e-9 {
            return None;
        }
        for column in 0..COLUMNS {
            matrix[pivot][column] /= head;
            inverse[pivot][column] /= head;
        }
        for &row in used.iter().filter(|&&row| row != pivot) {
            let factor = matrix[row][pivot];
            for column in 0..COLUMNS {
                matrix[row][column] -= factor * matrix[pivot][column];
                inverse[row][column] -= factor * inverse[pivot][column];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand: y = 5 + 2 a + 3 b, and residuals that are orthogonal to all columns.
    #[test]
    fn a_plane_is_found() {
        let corners = [(0.0, 0.0, 1.0), (0.0, 1.0, -1.0), (1.0, 0.0, -1.0), (1.0, 1.0, 1.0)];
        let points =
            corners.map(|(a, b, e)| Point { x: [1.0, a, b], y: 5.0 + 2.0 * a + 3.0 * b + e });
        let line = Line::fit(&points).unwrap();
        for (found, expected) in line.slope.iter().zip([5.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-9);
        }
        // Four squares of one and one degree of freedom; the sum of squares of `a` about its mean is
        // one.
        assert!((line.covariance[1][1] - 4.0).abs() < 1e-9);
        assert!((line.variance(&[1.0, 0.5, 0.5]) - 1.0).abs() < 1e-9);
        let alike = points.map(|Point { x, y }| Point { x: [1.0, x[1], x[1]], y });
        assert!(Line::fit(&alike).is_none());
        let alone = points.map(|Point { x, y }| Point { x: [1.0, x[1], 0.0], y });
        assert!((Line::fit(&alone).unwrap().slope[0] - 6.5).abs() < 1e-9);
    }
}
